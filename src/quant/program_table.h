#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quant/elementwise_program.h"
#include "quant/fake_quant_plan.h"

namespace bitsweep {

/// A program that begins with a quantizer of few codes is a function of the code: its results for
/// all codes, computed once by the program itself, stand in a table. An element then costs one
/// rounding and one look into the table, however many steps there are, and has the same bits.
class ProgramTable {
 public:
  /// The table for `num_elements` elements, or nullopt where there is none or it does not pay.
  /// `plans`: as in ElementwiseProgram::run(); the first must outlive the table.
  static std::optional<ProgramTable> make(const ElementwiseProgram& program,
                                          std::span<const FakeQuantPlan* const> plans,
                                          std::int64_t num_elements);

  /// The elements [begin, end) of a tensor; `in` and `out` point to element 0 and may be equal.
  void run(const float* in, float* out, std::int64_t begin, std::int64_t end) const;

 private:
  ProgramTable(const FakeQuantPlan* first, std::vector<float> results);

  const FakeQuantPlan* first_;
  std::vector<float> results_;  // by code
};

}  // namespace bitsweep
