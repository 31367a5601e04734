#pragma once

#include <string>

#include <onnxruntime_cxx_api.h>

#include "bitsweep/tensor.h"

namespace bitsweep::simulate {

const Ort::MemoryInfo& cpu_memory();

/// A view of the tensor, which must outlive it. @throws Error(kInvalidData) for a sequence.
Ort::Value as_value(const Tensor& tensor);

/// Whether an input of this type takes sequences.
bool takes_sequence(const Ort::TypeInfo& type);

/// A view as a sequence: of its elements, or of the rows of a tensor.
/// @throws Error(kInvalidData) for an empty one.
Ort::Value as_sequence(const Tensor& tensor);

/// The tensor or sequence of a value, which it keeps alive; an optional value that is none is an
/// undefined tensor. `name` is used in messages.
/// @throws Error(kInvalidModel) for maps and strings.
Tensor as_tensor(Ort::Value value, const std::string& name);

/// The first line of the runtime's message: the others are files and lines of its build.
std::string reason_text(const Ort::Exception& e);

}  // namespace bitsweep::simulate
