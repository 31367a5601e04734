#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bitsweep/tensor.h"
#include "quant/fake_quant_plan.h"
#include "quant/kernels/fake_quant.h"

namespace bitsweep {

/// A function of one float32 tensor that quantizes and computes element by element, such as a hard
/// swish in single operators with a quantizer behind each. The result has the bits that one
/// operator after the other gives, but the values between stay in the first cache.
///
/// Value 0 is the input, step i makes value i + 1, the last one is the result. A negative operand
/// -1 - k stands for constant k.
class ElementwiseProgram {
 public:
  struct Step {
    bool quantizes = false;
    kernels::Arithmetic op = kernels::Arithmetic::kAdd;
    int a = 0;
    int b = 0;     ///< not for quantizers
    int site = 0;  ///< of a quantizer
  };

  /// More values than this are never needed at once.
  static constexpr int kMaxSlots = 4;
  static constexpr std::size_t kMaxSteps = 32;

  /// @throws Error(kInvalidArgument) when it is empty, longer than kMaxSteps or needs too many
  /// values at once: see fits().
  ElementwiseProgram(std::vector<Step> steps, std::vector<float> constants);

  static bool fits(std::span<const Step> steps);

  /// As numbers, for the attributes of a node.
  std::vector<std::int64_t> encode() const;
  static ElementwiseProgram decode(std::span<const std::int64_t> numbers,
                                   std::vector<float> constants);

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<float>& constants() const { return constants_; }

  /// The elements [begin, end) of a tensor; `in` and `out` point to element 0 and may be equal.
  /// `plans`: one per step, null for arithmetic and for quantizers that are off.
  void run(const float* in, float* out, const Shape& shape, std::int64_t begin, std::int64_t end,
           std::span<const FakeQuantPlan* const> plans) const;

 private:
  std::vector<Step> steps_;
  std::vector<float> constants_;
  std::vector<int> slots_;  // by step: the buffer that takes its value
};

}  // namespace bitsweep
