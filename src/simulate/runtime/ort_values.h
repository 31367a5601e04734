#pragma once

#include <string>

#include <onnxruntime_cxx_api.h>

#include "bitsweep/tensor.h"

namespace bitsweep::simulate {

const Ort::MemoryInfo& cpu_memory();

/// A view of the tensor, which must outlive it. @throws Error(kInvalidData) for a sequence.
Ort::Value as_value(const Tensor& tensor);

/// What an input of a model takes.
struct InputKind {
  bool is_sequence = false;
  DataType element = DataType::kUndefined;  ///< type of the tensors of a sequence
};

InputKind input_kind(const Ort::TypeInfo& type);

/// A view as what the input takes; the value must outlive it. A sequence is made of the elements of
/// one, or of the rows of a tensor.
/// @throws Error(kInvalidData) for a sequence where one tensor is wanted.
Ort::Value as_input(const Tensor& value, const InputKind& kind);

/// The tensor or sequence of a value, which it keeps alive; an optional value that is none is an
/// undefined tensor. `name` is used in messages.
/// @throws Error(kInvalidModel) for maps and strings.
Tensor as_tensor(Ort::Value value, const std::string& name);

/// The first line of the runtime's message: the others are files and lines of its build.
std::string reason_text(const Ort::Exception& e);

}  // namespace bitsweep::simulate
