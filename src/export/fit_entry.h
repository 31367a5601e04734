#pragma once

#include <string>

#include "bitsweep/quantizer.h"
#include "export/file_entry.h"

namespace bitsweep::exporting {

/// Places the cells of a file's entry on the grid of the quantizer's tensor: versions before 2 name
/// no axes, so the axes of the quantizer's operator count.
/// @throws Error(kInvalidData) when the number of cells, the axes or the block size do not fit.
Encoding fit_entry(const FileEntry& entry, const Quantizer& quantizer);

}  // namespace bitsweep::exporting
