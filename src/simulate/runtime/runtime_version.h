#pragma once

#include <string>

namespace bitsweep::simulate {

/// Version of the opened ONNX Runtime, such as "1.22.0".
std::string runtime_version();

}  // namespace bitsweep::simulate
