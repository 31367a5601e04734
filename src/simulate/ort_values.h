#pragma once

#include <string>

#include <onnxruntime_cxx_api.h>

#include "bitsweep/tensor.h"

namespace bitsweep::simulate {

const Ort::MemoryInfo& cpu_memory();

/// A view of the tensor, which must outlive it.
Ort::Value as_value(const Tensor& tensor);

/// The tensor of a value, which it keeps alive. `name` is used in messages.
/// @throws Error(kInvalidModel) for sequences, maps and strings.
Tensor as_tensor(Ort::Value value, const std::string& name);

/// The first line of the runtime's message: the others are files and lines of its build.
std::string reason_text(const Ort::Exception& e);

}  // namespace bitsweep::simulate
