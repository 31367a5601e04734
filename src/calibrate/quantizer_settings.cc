// The settings of a quantizer: what each one does to its encoding and statistics, and how all of
// them are put back.
#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/quantizer.h"
#include "quant/grid_layout.h"

namespace bitsweep {

void Quantizer::set_enabled(bool on) { enabled_ = on; }

void Quantizer::set_format(const Format& format) {
  if (frozen_ || format == format_) return;
  if (format.is_integer()) Format::integer(format.bitwidth);
  format_ = format;
  drop_statistics();
  drop_encoding();
}

void Quantizer::set_bitwidth(int bitwidth) {
  if (frozen_) return;
  if (!format_.is_integer()) {
    throw Error(ErrorCode::kInvalidArgument, "quantizer",
                fmt::format("\"{}\" has format {}, whose width is fixed", name_, format_.name()),
                "set an integer format instead");
  }
  const Format format = Format::integer(bitwidth);
  if (format == format_) return;
  format_ = format;
  drop_encoding();
}

void Quantizer::set_symmetric(bool on) {
  if (frozen_ || on == symmetric_) return;
  symmetric_ = on;
  drop_encoding();
}

void Quantizer::set_strict_symmetric(bool on) {
  if (frozen_ || on == strict_) return;
  strict_ = on;
  drop_encoding();
}

void Quantizer::set_unsigned_symmetric(bool on) {
  if (frozen_ || on == unsigned_) return;
  unsigned_ = on;
  drop_encoding();
}

void Quantizer::set_tensor_shape(Shape shape) {
  if (!granularity_.per_tensor() && !frozen_) {
    const Shape grid = grid_shape(granularity_, shape);
    Shape before;  // without a shape so far, known from a loaded encoding at most
    if (!tensor_shape_.empty()) {
      before = grid_shape(granularity_, tensor_shape_);
    } else if (encoding_) {
      before = encoding_->grid;
    }
    if (grid != before) {
      drop_statistics();
      drop_encoding();
    }
  }
  tensor_shape_ = std::move(shape);
}

void Quantizer::set_granularity(const Granularity& granularity) {
  if (frozen_ || granularity == granularity_) return;
  grid_shape(granularity, tensor_shape_, name_);  // checks that the axes fit the tensor
  granularity_ = granularity;
  drop_statistics();
  drop_encoding();
}

void Quantizer::set_possible_axes(int channel_axis, int block_axis) {
  possible_channel_axis_ = channel_axis;
  possible_block_axis_ = block_axis;
}

void Quantizer::set_lpbq(std::optional<Lpbq> lpbq) {
  constexpr int kMaxScaleBits = 16;
  if (frozen_) return;
  if (lpbq && (lpbq->scale_bits < 1 || lpbq->scale_bits > kMaxScaleBits)) {
    throw Error(ErrorCode::kInvalidArgument, "quantizer",
                fmt::format("\"{}\" cannot use LPBQ with {} scale bits", name_, lpbq->scale_bits),
                fmt::format("choose 1 to {}", kMaxScaleBits));
  }
  const bool same =
      lpbq.has_value() == lpbq_.has_value() && (!lpbq || lpbq->scale_bits == lpbq_->scale_bits);
  if (same) return;
  lpbq_ = lpbq;
  drop_encoding();
}

void Quantizer::set_scheme(Scheme scheme) {
  if (frozen_ || scheme == scheme_) return;
  scheme_ = scheme;
  drop_statistics();
  drop_encoding();
}

void Quantizer::set_percentile(double percentile) {
  if (!(percentile > 0.0 && percentile <= 100.0)) {
    throw Error(ErrorCode::kInvalidArgument, "quantizer",
                fmt::format("the percentile of \"{}\" is {}", name_, percentile),
                "give percent above 0 and up to 100");
  }
  if (frozen_ || percentile == percentile_) return;
  percentile_ = percentile;
  if (scheme_ != Scheme::kPercentile) return;
  drop_statistics();
  drop_encoding();
}

void Quantizer::set_histogram_support(HistogramSupport support) {
  if (frozen_ || support == histogram_support_) return;
  histogram_support_ = support;
  if (scheme_ == Scheme::kMinMax) return;
  drop_statistics();
  drop_encoding();
}

void Quantizer::set_fixed_range(std::optional<FixedRange> range) {
  if (frozen_ || range == fixed_range_) return;
  if (range) {
    const auto [min, max] = *range;
    const bool nan = (min && std::isnan(*min)) || (max && std::isnan(*max));
    if (nan || (min && max && *min > *max)) {
      throw Error(ErrorCode::kInvalidArgument, "quantizer",
                  fmt::format("the fixed range of \"{}\" is not a range", name_),
                  "give numbers with min <= max");
    }
  }
  fixed_range_ = range;
  drop_encoding();
}

void Quantizer::set_zero_point_shift(double shift) {
  if (shift != 0.0 && shift != 0.5) {
    throw Error(ErrorCode::kInvalidArgument, "quantizer",
                fmt::format("the zero point of \"{}\" cannot shift by {} steps", name_, shift),
                "choose 0 or 0.5");
  }
  if (frozen_ || shift == zero_point_shift_) return;
  zero_point_shift_ = shift;
  drop_encoding();
}

struct Quantizer::Snapshot {
  bool enabled;
  Format format;
  bool symmetric;
  bool strict;
  bool unsigned_symmetric;
  Granularity granularity;
  Shape tensor_shape;
  std::optional<Lpbq> lpbq;
  Scheme scheme;
  double percentile;
  HistogramSupport histogram_support;
  std::optional<FixedRange> fixed_range;
  double zero_point_shift;
  bool frozen;
  std::optional<Encoding> encoding;
  std::shared_ptr<const FakeQuantPlan> plan;
  std::uint64_t version;
};

std::shared_ptr<const Quantizer::Snapshot> Quantizer::snapshot() const {
  return std::make_shared<const Snapshot>(Snapshot{
      .enabled = enabled_,
      .format = format_,
      .symmetric = symmetric_,
      .strict = strict_,
      .unsigned_symmetric = unsigned_,
      .granularity = granularity_,
      .tensor_shape = tensor_shape_,
      .lpbq = lpbq_,
      .scheme = scheme_,
      .percentile = percentile_,
      .histogram_support = histogram_support_,
      .fixed_range = fixed_range_,
      .zero_point_shift = zero_point_shift_,
      .frozen = frozen_,
      .encoding = encoding_,
      .plan = plan_,
      .version = version_,
  });
}

void Quantizer::restore(const Snapshot& snapshot) {
  const bool same_statistics =
      snapshot.format.kind == format_.kind && snapshot.granularity == granularity_ &&
      snapshot.tensor_shape == tensor_shape_ && snapshot.scheme == scheme_ &&
      snapshot.percentile == percentile_ && snapshot.histogram_support == histogram_support_;
  if (!same_statistics) drop_statistics();
  enabled_ = snapshot.enabled;
  format_ = snapshot.format;
  symmetric_ = snapshot.symmetric;
  strict_ = snapshot.strict;
  unsigned_ = snapshot.unsigned_symmetric;
  granularity_ = snapshot.granularity;
  tensor_shape_ = snapshot.tensor_shape;
  lpbq_ = snapshot.lpbq;
  scheme_ = snapshot.scheme;
  percentile_ = snapshot.percentile;
  histogram_support_ = snapshot.histogram_support;
  fixed_range_ = snapshot.fixed_range;
  zero_point_shift_ = snapshot.zero_point_shift;
  frozen_ = snapshot.frozen;
  encoding_ = snapshot.encoding;
  plan_ = snapshot.plan;
  version_ = snapshot.version;
}

}  // namespace bitsweep
