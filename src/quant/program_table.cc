#include "quant/program_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace bitsweep {
namespace {

// Codes at once: they stay in the first cache, beside the table.
constexpr std::int64_t kChunk = 1024;
// Measured: a look into the table takes as long as two steps.
constexpr std::size_t kFewestSteps = 4;
// Elements per code from which on the table is made in less time than it saves.
constexpr std::int64_t kElementsPerCode = 4;

bool reads_input(const ElementwiseProgram::Step& step) {
  return step.a == 0 || (!step.quantizes && step.b == 0);
}

// y[i] = table[codes[i]]. Two codes a load: one by one, the loads are what takes the time.
void look_up(const std::int32_t* codes, const float* table, float* y, std::size_t n) {
  constexpr std::size_t kAtOnce = 4;
  constexpr int kBits = 32;
  std::size_t i = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; i + kAtOnce <= n; i += kAtOnce) {
      std::array<std::uint64_t, 2> pairs;
      std::memcpy(pairs.data(), codes + i, sizeof(pairs));
      const float a = table[static_cast<std::uint32_t>(pairs[0])];
      const float b = table[pairs[0] >> kBits];
      const float c = table[static_cast<std::uint32_t>(pairs[1])];
      const float d = table[pairs[1] >> kBits];
      y[i] = a;
      y[i + 1] = b;
      y[i + 2] = c;
      y[i + 3] = d;
    }
  }
  for (; i < n; ++i) y[i] = table[codes[i]];
}

}  // namespace

ProgramTable::ProgramTable(const FakeQuantPlan* first, std::vector<float> results)
    : first_(first), results_(std::move(results)) {}

std::optional<ProgramTable> ProgramTable::make(const ElementwiseProgram& program,
                                               std::span<const FakeQuantPlan* const> plans,
                                               std::int64_t num_elements) {
  const std::vector<ElementwiseProgram::Step>& steps = program.steps();
  const FakeQuantPlan* first = plans[0];  // null for arithmetic, too
  if (steps.size() < kFewestSteps || first == nullptr || first->num_codes() == 0 ||
      num_elements < kElementsPerCode * first->num_codes() ||
      std::any_of(steps.begin() + 1, steps.end(), reads_input))
    return std::nullopt;
  std::array<const FakeQuantPlan*, ElementwiseProgram::kMaxSteps> behind = {};
  for (std::size_t i = 1; i < steps.size(); ++i) {
    if (plans[i] != nullptr && !plans[i]->per_tensor()) return std::nullopt;
    behind[i] = plans[i];
  }
  // With the first quantizer off, the program takes the values of the codes as they are.
  std::vector<float> results = first->values_of_codes();
  const auto size = static_cast<std::int64_t>(results.size());
  program.run(results.data(), results.data(), {size}, 0, size, behind);
  return ProgramTable(first, std::move(results));
}

void ProgramTable::run(const float* in, float* out, std::int64_t begin, std::int64_t end) const {
  std::array<std::int32_t, kChunk> codes;
  for (std::int64_t first = begin; first < end; first += kChunk) {
    const auto n = static_cast<std::size_t>(std::min(end - first, kChunk));
    first_->encode(in + first, codes.data(), n);
    look_up(codes.data(), results_.data(), out + first, n);
  }
}

}  // namespace bitsweep
