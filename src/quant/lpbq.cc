#include "quant/lpbq.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bitsweep/error.h"

namespace bitsweep {

void apply_lpbq(Encoding& encoding, int scale_bits) {
  const Granularity& g = encoding.granularity;
  if (!encoding.format.is_integer() || !g.blockwise()) {
    throw Error(ErrorCode::kInvalidArgument, "lpbq",
                "scales of blocks need a blockwise integer encoding", "set a block size first");
  }
  const auto channel = static_cast<std::size_t>(g.channel_axis);
  std::int64_t stride = 1;  // cells between two neighbours on the channel axis
  for (std::size_t axis = channel + 1; axis < encoding.grid.size(); ++axis)
    stride *= encoding.grid[axis];
  const std::int64_t channels = encoding.grid[channel];
  const auto channel_of = [&](std::size_t cell) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(cell) / stride % channels);
  };

  std::vector<double> largest(static_cast<std::size_t>(channels), 0.0);
  for (std::size_t i = 0; i < encoding.cells.size(); ++i) {
    double& scale = largest[channel_of(i)];
    scale = std::max(scale, encoding.cells[i].delta);
  }
  const double multiples = std::ldexp(1.0, scale_bits);
  for (std::size_t i = 0; i < encoding.cells.size(); ++i) {
    AffineEncoding& cell = encoding.cells[i];
    const double steps = std::round((cell.max - cell.min) / cell.delta);
    const double channel_scale = largest[channel_of(i)] / multiples;
    cell.delta =
        std::clamp(std::nearbyint(cell.delta / channel_scale), 1.0, multiples) * channel_scale;
    // The ends of the range are float32 products in the reference, the step stays double.
    const auto delta = static_cast<float>(cell.delta);
    const auto offset = static_cast<float>(cell.offset);
    cell.min = delta * offset;
    cell.max = (static_cast<float>(steps) + offset) * delta;
  }
}

}  // namespace bitsweep
