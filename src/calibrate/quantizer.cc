#include "bitsweep/quantizer.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "bitsweep/error.h"
#include "calibrate/skipping_observer.h"
#include "quant/fake_quant_plan.h"
#include "quant/fixed_range.h"
#include "quant/formats/float8.h"
#include "quant/grid_layout.h"
#include "quant/kernels/fake_quant.h"
#include "quant/lpbq.h"

namespace bitsweep {
namespace {

std::uint64_t next_version() {
  static std::atomic<std::uint64_t> counter{0};
  return ++counter;
}

}  // namespace

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

Quantizer::Quantizer(std::string name) : name_(std::move(name)), version_(next_version()) {}

void Quantizer::set_enabled(bool on) { enabled_ = on; }

// A format without encoding is ready at once; others wait for one.
void Quantizer::drop_encoding() {
  encoding_.reset();
  plan_ = format_.needs_encoding() ? nullptr : std::make_shared<const FakeQuantPlan>(format_);
  version_ = next_version();
}

void Quantizer::drop_statistics() { observer_.reset(); }

void Quantizer::set_encoding(Encoding encoding) {
  plan_ = std::make_shared<const FakeQuantPlan>(encoding);
  encoding_ = std::move(encoding);
  version_ = next_version();
}

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

void Quantizer::reset_statistics() {
  if (frozen_) return;
  drop_statistics();
  drop_encoding();
}

void Quantizer::observe(const Tensor& values) {
  if (frozen_ || !format_.needs_encoding()) return;
  if (values.type() == DataType::kFloat16 || values.type() == DataType::kBfloat16) {
    const kernels::KernelTable& table = kernels::kernels();
    Tensor wide = Tensor::allocate(DataType::kFloat, values.shape());
    const auto widen =
        values.type() == DataType::kFloat16 ? table.widen_float16 : table.widen_bfloat16;
    widen(static_cast<const std::uint16_t*>(values.data()), wide.mutable_floats().data(),
          static_cast<std::size_t>(values.size()));
    observe(wide.floats().data(), wide.shape());
    return;
  }
  observe(values.floats().data(), values.shape());
}

void Quantizer::observe(const float* values, const Shape& shape) {
  if (frozen_ || !format_.needs_encoding()) return;
  if (!granularity_.per_tensor() && tensor_shape_.empty()) set_tensor_shape(shape);
  if (!observer_) {
    observer_ = make_observer(
        {.scheme = scheme_, .percentile = percentile_, .histogram_support = histogram_support_},
        granularity_, shape);
  }
  observer_->observe(values, shape);
}

bool Quantizer::has_statistics() const {
  return observer_ != nullptr && observer_->num_values() > 0;
}

bool Quantizer::observed_only_zeros() const {
  const auto* observer = dynamic_cast<const SkippingObserver*>(observer_.get());
  return observer != nullptr && observer->saw_only_zeros();
}

std::int64_t Quantizer::num_non_finite() const {
  return observer_ == nullptr ? 0 : observer_->num_non_finite();
}

std::vector<std::vector<HistogramBucket>> Quantizer::histograms() const {
  if (scheme_ == Scheme::kMinMax || observer_ == nullptr || !observer_->has_data()) {
    throw Error(ErrorCode::kNotReady, "quantizer", fmt::format("\"{}\" has no histogram", name_),
                "calibrate with tf_enhanced, percentile, mse or entropy");
  }
  return observer_->histograms();
}

AffineOptions Quantizer::affine_options() const {
  if (!format_.is_integer()) {
    // The range of an 8-bit float is symmetric and has no codes: a strict symmetric grid has the
    // ends of the data.
    return {.bitwidth = 8, .symmetric = true, .strict_symmetric = true};
  }
  return {.bitwidth = format_.bitwidth,
          .symmetric = symmetric_,
          .strict_symmetric = symmetric_ && strict_,
          .unsigned_symmetric = symmetric_ && unsigned_,
          .zero_point_shift = zero_point_shift_};
}

void Quantizer::compute_encoding() {
  if (frozen_ || !format_.needs_encoding()) return;
  if (!has_statistics()) {
    throw Error(ErrorCode::kNotReady, "calibrate",
                fmt::format("quantizer \"{}\" observed no value", name_),
                "run at least one sample in which its tensor is computed");
  }
  const auto* observer = dynamic_cast<const SkippingObserver*>(observer_.get());
  if (observer != nullptr && observer->saw_only_a_mask()) {
    drop_encoding();  // there is none: whoever calibrates leaves the tensor in float
    return;
  }
  if (!observer_->has_data()) {
    throw Error(ErrorCode::kNotReady, "calibrate",
                fmt::format("all {} values that quantizer \"{}\" observed are NaN or infinite",
                            observer_->num_values(), name_),
                "check the model and the input preprocessing, or disable this quantizer");
  }
  const AffineOptions options = affine_options();
  Encoding encoding{.format = format_,
                    .granularity = granularity_,
                    .grid = {},
                    .cells = observer_->encodings(options)};
  if (!granularity_.per_tensor()) encoding.grid = grid_shape(granularity_, tensor_shape_);
  for (AffineEncoding& cell : encoding.cells) {
    if (fixed_range_) {
      const double min = fixed_range_->first.value_or(cell.min);
      const double max = fixed_range_->second.value_or(cell.max);
      if (format_.is_integer()) {
        cell = make_fixed_range_encoding(min, max, options);
      } else {
        cell = make_float8_encoding(min, max, format_.kind);
      }
    } else if (!format_.is_integer()) {
      cell = make_float8_encoding(cell.min, cell.max, format_.kind);
    }
  }
  if (lpbq_) apply_lpbq(encoding, lpbq_->scale_bits);
  set_encoding(std::move(encoding));
}

void Quantizer::load_encoding(const Encoding& encoding) {
  if (frozen_) return;
  if (!encoding.format.needs_encoding()) {
    throw Error(
        ErrorCode::kInvalidArgument, "quantizer",
        fmt::format("\"{}\" cannot load an encoding of format {}", name_, encoding.format.name()),
        "set the format instead; it needs no encoding");
  }
  if (!encoding.granularity.per_tensor() && !tensor_shape_.empty() &&
      encoding.grid != grid_shape(encoding.granularity, tensor_shape_)) {
    throw Error(ErrorCode::kInvalidArgument, "quantizer",
                fmt::format("an encoding grid of shape {} does not fit \"{}\" of shape {}",
                            shape_text(encoding.grid), name_, shape_text(tensor_shape_)),
                "load the encodings of this model");
  }
  Encoding loaded = encoding;
  if (lpbq_) apply_lpbq(loaded, lpbq_->scale_bits);
  auto plan = std::make_shared<const FakeQuantPlan>(
      loaded);  // refuses broken cells before anything changes
  if (loaded.format != format_ || loaded.granularity != granularity_) drop_statistics();
  format_ = loaded.format;
  granularity_ = loaded.granularity;
  encoding_ = std::move(loaded);
  plan_ = std::move(plan);
  version_ = next_version();
}

void Quantizer::clear_encoding() {
  if (frozen_) return;
  drop_encoding();
}

bool Quantizer::initialized() const { return plan_ != nullptr; }

std::optional<bool> Quantizer::clip_encoding(double limit) {
  if (!enabled_ || frozen_ || !encoding_ || !format_.is_integer()) return std::nullopt;
  if (!(limit > 0.0)) {
    throw Error(ErrorCode::kInvalidArgument, "quantizer",
                fmt::format("\"{}\" cannot clip to a limit of {}", name_, limit),
                "give a positive limit");
  }
  Encoding clipped = *encoding_;
  for (AffineEncoding& cell : clipped.cells)
    cell = bitsweep::clip_encoding(cell, limit, affine_options());
  if (clipped == *encoding_) return false;
  set_encoding(std::move(clipped));
  return true;
}

std::shared_ptr<const FakeQuantPlan> Quantizer::plan() const {
  if (plan_ == nullptr) {
    throw Error(ErrorCode::kNotReady, "quantizer", fmt::format("\"{}\" has no encoding", name_),
                "calibrate the simulation or load encodings first");
  }
  return plan_;
}

Tensor Quantizer::fake_quant(const Tensor& values) const {
  const std::shared_ptr<const FakeQuantPlan> current = plan();
  Tensor result = Tensor::allocate(values.type(), values.shape());
  current->apply_typed(values.type(), values.data(), result.mutable_data(), values.shape(), 0,
                       values.size());
  return result;
}

void Quantizer::fake_quant(const float* in, float* out, const Shape& shape) const {
  plan()->apply(in, out, shape);
}

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
