#include "calibrate/observer_errors.h"

#include <fmt/core.h>

#include "bitsweep/error.h"

namespace bitsweep {

void throw_no_data(std::int64_t num_values) {
  if (num_values == 0) {
    throw Error(ErrorCode::kNotReady, "calibrate", "no value was observed",
                "run at least one sample first");
  }
  throw Error(ErrorCode::kNotReady, "calibrate",
              fmt::format("all {} values observed are NaN or infinite", num_values),
              "check the model and the input preprocessing");
}

void check_num_cells(std::int64_t of_batch, std::size_t of_observer, const Shape& shape) {
  if (of_batch == static_cast<std::int64_t>(of_observer)) return;
  throw Error(ErrorCode::kInvalidArgument, "calibrate",
              fmt::format("a tensor of shape {} has {} grid cells, earlier ones had {}",
                          shape_text(shape), of_batch, of_observer),
              "calibrate tensors whose channels change per tensor instead");
}

}  // namespace bitsweep
