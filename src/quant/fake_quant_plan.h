#pragma once

#include <cstdint>
#include <vector>

#include "bitsweep/encoding.h"
#include "bitsweep/format.h"
#include "bitsweep/tensor.h"
#include "quant/grid_layout.h"
#include "quant/kernels/fake_quant.h"

namespace bitsweep {

/// What happens to values between two codes of an integer grid.
enum class Rounding {
  kSimulation,      ///< half steps go up, as in the simulation everywhere
  kQuantizeLinear,  ///< half steps go to the even code, as exported models compute
};

/// All that fake-quantizing a tensor needs, computed once: float32 grids and their order.
/// Immutable, so that any number of threads may use one plan at the same time without a lock.
class FakeQuantPlan {
 public:
  /// @throws Error(kInvalidArgument) when the number of cells does not fit the grid, or a scale is
  /// not positive.
  explicit FakeQuantPlan(const Encoding& encoding, Rounding rounding = Rounding::kSimulation);
  /// A format without encoding: float16, bfloat16 or float32 (a copy).
  /// @throws Error(kInvalidArgument) for a format that needs an encoding.
  explicit FakeQuantPlan(const Format& format);

  const Format& format() const { return format_; }

  /// One grid for all elements, of any shape.
  bool per_tensor() const { return granularity_.per_tensor() && grid_.empty(); }

  /// Where one integer grid of few codes fits all elements: how many codes, from 0 on, else 0.
  std::int32_t num_codes() const { return num_codes_; }
  /// Codes of n elements; num_codes() for NaN. Only where there are codes.
  void encode(const float* in, std::int32_t* codes, std::size_t n) const;
  /// What apply() gives for each code, and NaN behind them.
  std::vector<float> values_of_codes() const;

  /// Fake-quantizes a whole float32 tensor; `out` may equal `in`.
  /// @throws Error(kInvalidArgument) when the shape does not fit the encoding.
  void apply(const float* in, float* out, const Shape& shape) const;

  /// Only the elements [begin, end) in flat order; `in` and `out` point to element 0 of the tensor.
  /// Pieces of one tensor may run at the same time.
  void apply_range(const float* in, float* out, const Shape& shape, std::int64_t begin,
                   std::int64_t end) const;

  /// The same with pointers to element `begin`.
  void apply_piece(const float* in, float* out, const Shape& shape, std::int64_t begin,
                   std::int64_t end) const;

  /// The same for float32, float16 and bfloat16 elements: widened, processed, narrowed to nearest
  /// even.
  /// @throws Error(kInvalidArgument) for another element type.
  void apply_typed(DataType type, const void* in, void* out, const Shape& shape, std::int64_t begin,
                   std::int64_t end) const;

 private:
  // `in` and `out` point to element `begin`.
  void process_grids(const GridLayout& layout, const float* in, float* out, std::int64_t begin,
                     std::int64_t end) const;
  void process_one_grid(const float* in, float* out, std::size_t n, std::size_t cell) const;
  void process_runs(const float* in, float* out, std::int64_t n, std::int64_t first_cell,
                    std::int64_t column, std::int64_t run_length) const;
  void process_band(const GridLayout& layout, const float* in, float* out, std::int64_t begin,
                    std::int64_t end) const;
  struct Pattern;
  kernels::AffineRow spread_grids(const GridLayout& layout, std::int64_t first_cell,
                                  std::int64_t column, std::int64_t width, Pattern& to) const;
  void process_rows(const float* in, float* out, std::int64_t num_rows, std::int64_t stride,
                    std::int64_t n, const kernels::AffineRow& grids) const;
  GridLayout layout(const Shape& shape) const;
  bool is_simulated_integer() const {
    return format_.is_integer() && rounding_ == Rounding::kSimulation;
  }
  kernels::AffineGrid grid_of(std::size_t cell) const {
    return {min_[cell], max_[cell], delta_[cell], offset_[cell]};
  }
  kernels::AffineRow row_of(std::size_t first_cell) const {
    return {&min_[first_cell], &max_[first_cell], &delta_[first_cell], &offset_[first_cell]};
  }
  std::int32_t count_codes() const;

  Format format_;
  Rounding rounding_ = Rounding::kSimulation;
  Granularity granularity_;
  Shape grid_;
  kernels::Float8Layout float8_ = {};
  // One entry per cell; the 8-bit floats use only delta_.
  std::vector<float> min_;
  std::vector<float> max_;
  std::vector<float> delta_;
  std::vector<float> offset_;
  std::int32_t num_codes_ = 0;
};

}  // namespace bitsweep
