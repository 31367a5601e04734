#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/calibration.h"
#include "bitsweep/encoding.h"
#include "bitsweep/export.h"
#include "bitsweep/tensor.h"

namespace BITSWEEP_EXPORT bitsweep {

class BITSWEEP_HIDDEN FakeQuantPlan;

/// LPBQ: block scales that are integer multiples of a per-channel scale. Source: spec section 3.1
/// (low-power blockwise).
struct Lpbq {
  int scale_bits = 4;
};

/// One quantizer: settings, encoding and calibration statistics. Several tensors may share one
/// (ties).
///
/// Each setter says what it does to the encoding; `version()` names the state that decides the
/// results, so that caches of fake-quantized weights know when they are stale. Not thread-safe:
/// change it between runs.
class Quantizer {
 public:
  explicit Quantizer(std::string name);

  const std::string& name() const { return name_; }
  bool enabled() const { return enabled_; }
  void set_enabled(bool on);

  const Format& format() const { return format_; }
  int bitwidth() const { return format_.bitwidth; }
  /// Changes the format; drops encoding and statistics when it differs. No effect when frozen.
  void set_format(const Format& format);
  /// Changes the width of an integer format; drops the encoding, keeps statistics. No effect when
  /// frozen.
  /// @throws Error(kInvalidArgument) when the format is a float or the width is not 2 to 32.
  void set_bitwidth(int bitwidth);

  bool symmetric() const { return symmetric_; }
  bool strict_symmetric() const { return strict_; }
  bool unsigned_symmetric() const { return unsigned_; }
  /// Any change of the three flags drops the encoding. No effect when frozen.
  void set_symmetric(bool on);
  void set_strict_symmetric(bool on);
  void set_unsigned_symmetric(bool on);

  const Granularity& granularity() const { return granularity_; }
  /// Shape of the tensor the granularity refers to; needed for per-channel and blockwise. Drops the
  /// encoding and the statistics when the grid of cells changes with it.
  void set_tensor_shape(Shape shape);
  const Shape& tensor_shape() const { return tensor_shape_; }
  /// Drops encoding and statistics when it differs. No effect when frozen.
  /// @throws Error(kInvalidArgument) when the axis is out of range or the block size does not
  /// divide the dimension.
  void set_granularity(const Granularity& granularity);
  /// The axes that per-channel and blockwise would use; -1 when the operator has none.
  void set_possible_axes(int channel_axis, int block_axis);
  int possible_channel_axis() const { return possible_channel_axis_; }
  int possible_block_axis() const { return possible_block_axis_; }

  std::optional<Lpbq> lpbq() const { return lpbq_; }
  /// Drops the encoding when it differs. No effect when frozen. @throws Error(kInvalidArgument)
  /// when scale_bits is not 1 to 16.
  void set_lpbq(std::optional<Lpbq> lpbq);

  Scheme scheme() const { return scheme_; }
  /// Drops encoding and statistics when it differs. No effect when frozen.
  void set_scheme(Scheme scheme);
  double percentile() const { return percentile_; }
  /// Percent in (0, 100]; kept when the format changes. @throws Error(kInvalidArgument).
  void set_percentile(double percentile);
  HistogramSupport histogram_support() const { return histogram_support_; }
  /// Drops encoding and statistics when it differs. No effect when frozen.
  void set_histogram_support(HistogramSupport support);

  /// Bounds that replace what was observed; an absent side keeps the observed value.
  using FixedRange = std::pair<std::optional<double>, std::optional<double>>;
  const std::optional<FixedRange>& fixed_range() const { return fixed_range_; }
  /// Drops the encoding when it differs. No effect when frozen. @throws Error(kInvalidArgument) for
  /// NaN or min > max.
  void set_fixed_range(std::optional<FixedRange> range);
  /// In steps: 0, or 0.5 for a symmetric grid without zero. Drops the encoding when it differs. No
  /// effect when frozen.
  double zero_point_shift() const { return zero_point_shift_; }
  void set_zero_point_shift(double shift);

  bool frozen() const { return frozen_; }
  /// Frozen: encoding and settings stay until unfreeze().
  void freeze() { frozen_ = true; }
  void unfreeze() { frozen_ = false; }

  /// Clears statistics (and the encoding) before a calibration. No effect when frozen.
  void reset_statistics();
  /// Adds values of a float32/16/bf16 tensor to the statistics. No effect when frozen or without
  /// need of an encoding.
  void observe(const Tensor& values);
  /// Raw form used by the simulation's kernels.
  void observe(const float* values, const Shape& shape);
  bool has_statistics() const;
  /// Whether every finite value that was observed is zero.
  bool observed_only_zeros() const;
  std::int64_t num_non_finite() const;
  /// Histogram of every grid cell that the ranges came from.
  /// @throws Error(kNotReady) when the scheme keeps none or nothing was observed.
  std::vector<std::vector<HistogramBucket>> histograms() const;
  /// Statistics -> encoding (fixed range and LPBQ applied). @throws Error(kNotReady) without
  /// statistics.
  void compute_encoding();

  const std::optional<Encoding>& encoding() const { return encoding_; }
  /// Takes the encoding (format, granularity and cells); LPBQ is applied. No effect when frozen.
  void load_encoding(const Encoding& encoding);
  void clear_encoding();
  /// Ready for simulation: a format without encoding, or an encoding is there.
  bool initialized() const;

  /// Clips the encoding to [-limit, limit]. Returns whether it changed; nullopt when disabled,
  /// frozen or without encoding.
  std::optional<bool> clip_encoding(double limit);

  /// Rounds the values to the quantizer's grid; result has the input's type and shape.
  /// @throws Error(kNotReady) when the format needs an encoding and none is there.
  Tensor fake_quant(const Tensor& values) const;
  /// Raw form: float32 in and out, `out` may equal `in`.
  void fake_quant(const float* in, float* out, const Shape& shape) const;

  /// What simulation threads use: the present grids, immutable and shared. @throws Error(kNotReady)
  /// like fake_quant().
  std::shared_ptr<const FakeQuantPlan> plan() const;

  /// Changes with every change of format, encoding or flags, and comes back with restore(): equal
  /// versions give equal results. Unique over all quantizers of the process.
  std::uint64_t version() const { return version_; }

  /// Settings and encoding to put back later (statistics are not kept).
  struct Snapshot;
  std::shared_ptr<const Snapshot> snapshot() const;
  void restore(const Snapshot& snapshot);

 private:
  AffineOptions affine_options() const;
  void set_encoding(Encoding encoding);
  void drop_encoding();
  void drop_statistics();

  std::string name_;
  bool enabled_ = true;
  Format format_;
  bool symmetric_ = false;
  bool strict_ = false;
  bool unsigned_ = false;
  Granularity granularity_;
  Shape tensor_shape_;
  int possible_channel_axis_ = -1;
  int possible_block_axis_ = -1;
  std::optional<Lpbq> lpbq_;
  Scheme scheme_ = Scheme::kMinMax;
  double percentile_ = 100.0;
  HistogramSupport histogram_support_ = HistogramSupport::kFirstBatch;
  std::optional<FixedRange> fixed_range_;
  double zero_point_shift_ = 0.0;
  bool frozen_ = false;
  std::unique_ptr<Observer> observer_;
  std::optional<Encoding> encoding_;
  std::shared_ptr<const FakeQuantPlan>
      plan_;  // of the format or the encoding; null when not initialized
  std::uint64_t version_ = 0;
};

}  // namespace BITSWEEP_EXPORT bitsweep
