#pragma once

#include <cstddef>
#include <cstdint>

#include "bitsweep/tensor.h"

namespace bitsweep {

/// @throws Error(kNotReady): nothing was observed, or nothing but NaN and infinities.
[[noreturn]] void throw_no_data(std::int64_t num_values);

/// @throws Error(kInvalidArgument) when a batch has another number of cells than the observer.
void check_num_cells(std::int64_t of_batch, std::size_t of_observer, const Shape& shape);

}  // namespace bitsweep
