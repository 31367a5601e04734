#include "bitsweep/quantizer.h"

#include <fmt/core.h>

#include <atomic>

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

Quantizer::Quantizer(std::string name) : name_(std::move(name)), version_(next_version()) {}

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

}  // namespace bitsweep
