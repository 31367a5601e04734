#include "simulate/runtime/custom_ops.h"

#include "bitsweep/error.h"
#include "simulate/runtime/ort_values.h"

namespace bitsweep::simulate {

void register_custom_ops(const std::vector<std::filesystem::path>& libraries,
                         Ort::SessionOptions* options) {
  for (const std::filesystem::path& library : libraries) {
    try {
      options->RegisterCustomOpsLibrary(library.c_str());
    } catch (const Ort::Exception& e) {
      throw Error(ErrorCode::kRuntime, "custom operators",
                  "\"" + library.string() + "\" cannot be used: " + reason_text(e),
                  "give a shared library for this machine that exports RegisterCustomOps");
    }
  }
}

}  // namespace bitsweep::simulate
