#pragma once

#include <string>

#include "bitsweep/verify.h"

namespace bitsweep::cli {

/// Tables of what was compared, what is wrong, and the latencies.
std::string verify_text(const VerifyResult& result);
std::string verify_json(const VerifyResult& result);

}  // namespace bitsweep::cli
