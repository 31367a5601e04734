#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "bitsweep/tensor.h"

namespace bitsweep::python {

/// Tensor over the memory of a numpy array (or of anything numpy can view as one); the array is
/// kept alive.
///
/// No copy when the array is C-contiguous, aligned and in native byte order; one copy otherwise.
/// Values are never converted: the element type stays, so that a float64 array for a float32 input
/// is an error and not a surprise.
/// @throws Error(kInvalidData) for element types without an ONNX counterpart; `name` is used in the
/// sentence.
Tensor tensor_from_array(nanobind::handle array, const std::string& name);

/// numpy array over the tensor's memory, without a copy; a list of them for a sequence, None for an
/// optional value that is none. bfloat16 and 8-bit floats need the package
/// ml_dtypes.
nanobind::object array_from_tensor(const Tensor& tensor);

/// numpy array with a copy of the tensor's elements, for tensors whose memory the library goes on
/// using.
nanobind::object array_copy_of_tensor(const Tensor& tensor);

/// Sample from a dict of input name to array, or to a list of arrays. @throws Error(kInvalidData)
/// when it is none.
Feed feed_from_dict(nanobind::handle feed);

}  // namespace bitsweep::python
