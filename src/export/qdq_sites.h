#pragma once

#include "bitsweep/quantizer.h"
#include "bitsweep/tensor.h"
#include "export/file_entry.h"
#include "graph/qdq_rewrite.h"

namespace bitsweep::exporting {

/// Type of the codes. @throws Error(kInvalidArgument) for a width that no type has.
DataType code_data_type(const FileEntry& entry);

/// Lowest operator set whose QuantizeLinear can say an entry of a tensor with this element type.
/// @throws Error(kInvalidArgument) for a width that none has.
std::int64_t required_opset(const FileEntry& entry, DataType type);

/// Scale, zero point and axes of an entry; `shape` is that of the tensor (used with several cells).
graph::QdqSite qdq_site(const FileEntry& entry, DataType type, const Shape& shape,
                        bool lpbq_multiples);

/// Codes of values that lie on the grid of the entry (others are rounded to it), in the type of the
/// codes.
Tensor codes_of(const FileEntry& entry, const Tensor& values);

}  // namespace bitsweep::exporting
