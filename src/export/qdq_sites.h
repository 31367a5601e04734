#pragma once

#include "bitsweep/qdq_export.h"
#include "bitsweep/quantizer.h"
#include "bitsweep/tensor.h"
#include "export/file_entry.h"
#include "graph/qdq/qdq_rewrite.h"

namespace bitsweep::exporting {

/// Type of the codes. @throws Error(kInvalidArgument) for a width that no type has.
DataType code_data_type(const FileEntry& entry);

/// Lowest operator set that can say an entry of a tensor with this element type.
/// @throws Error(kInvalidArgument) for a width that none has.
std::int64_t required_opset(const FileEntry& entry, DataType type);

/// Whether scales have the type of a half tensor, so that it needs no casts.
bool has_half_scales(DataType type, const QdqOptions& options);

/// Scale, zero point and axes of an entry; `shape` is that of the tensor (used with several cells).
/// Half tensors are cast to float32 in front of the pair and back behind it, unless their scales
/// are half, too.
graph::QdqSite qdq_site(const FileEntry& entry, DataType type, const Shape& shape,
                        const QdqOptions& options);

/// Codes of values that lie on the grid of the entry (others are rounded to it), in the type of the
/// codes.
Tensor codes_of(const FileEntry& entry, const Tensor& values);

}  // namespace bitsweep::exporting
