#include "bitsweep/error.h"

namespace bitsweep {

Error::Error(ErrorCode code, const std::string& where, const std::string& what,
             const std::string& fix)
    : std::runtime_error(where + ": " + what + (fix.empty() ? "" : "; " + fix)),
      code_(code),
      where_(where),
      fix_(fix) {}

}  // namespace bitsweep
