#include "quant/elementwise_program.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "bitsweep/error.h"

namespace bitsweep {
namespace {

using Step = ElementwiseProgram::Step;

// Elements handled at once: all buffers together fit the first cache.
constexpr std::int64_t kChunk = 1024;
constexpr std::size_t kNumbersPerStep = 4;
constexpr std::int64_t kQuantizeCode = -1;  // in the place of an arithmetic operator

// By step: the first buffer that no later step reads. A step may write over what it reads.
std::vector<int> assign_slots(std::span<const Step> steps) {
  std::vector<std::size_t> last_read(steps.size() + 1, 0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const int operand : {steps[i].a, steps[i].quantizes ? 0 : steps[i].b}) {
      if (operand > 0) last_read[static_cast<std::size_t>(operand)] = i;
    }
  }
  std::vector<int> slots;
  std::vector<std::size_t> busy_until;  // by slot: the last step that reads what it holds
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::size_t slot = 0;
    while (slot < busy_until.size() && busy_until[slot] > i) ++slot;
    if (slot == busy_until.size()) busy_until.push_back(0);
    busy_until[slot] = last_read[i + 1];
    slots.push_back(static_cast<int>(slot));
  }
  return slots;
}

}  // namespace

bool ElementwiseProgram::fits(std::span<const Step> steps) {
  if (steps.empty() || steps.size() > kMaxSteps) return false;
  return std::ranges::max(assign_slots(steps)) < kMaxSlots;
}

ElementwiseProgram::ElementwiseProgram(std::vector<Step> steps, std::vector<float> constants)
    : steps_(std::move(steps)), constants_(std::move(constants)), slots_(assign_slots(steps_)) {
  if (!fits(steps_)) {
    throw Error(ErrorCode::kInvalidArgument, "fake_quant",
                "a program of element by element steps is empty or too long", "split it");
  }
}

std::vector<std::int64_t> ElementwiseProgram::encode() const {
  std::vector<std::int64_t> numbers;
  for (const Step& step : steps_) {
    numbers.push_back(step.quantizes ? kQuantizeCode : static_cast<std::int64_t>(step.op));
    numbers.push_back(step.a);
    numbers.push_back(step.b);
    numbers.push_back(step.site);
  }
  return numbers;
}

ElementwiseProgram ElementwiseProgram::decode(std::span<const std::int64_t> numbers,
                                              std::vector<float> constants) {
  std::vector<Step> steps;
  for (std::size_t i = 0; i + kNumbersPerStep <= numbers.size(); i += kNumbersPerStep) {
    Step& step = steps.emplace_back();
    step.quantizes = numbers[i] == kQuantizeCode;
    if (!step.quantizes) step.op = static_cast<kernels::Arithmetic>(numbers[i]);
    step.a = static_cast<int>(numbers[i + 1]);
    step.b = static_cast<int>(numbers[i + 2]);
    step.site = static_cast<int>(numbers[i + 3]);
  }
  return {std::move(steps), std::move(constants)};
}

void ElementwiseProgram::run(const float* in, float* out, const Shape& shape, std::int64_t begin,
                             std::int64_t end, std::span<const FakeQuantPlan* const> plans) const {
  const kernels::ArithmeticFn arithmetic = kernels::kernels().arithmetic;
  std::array<std::array<float, kChunk>, kMaxSlots> buffers;
  for (std::int64_t first = begin; first < end; first += kChunk) {
    const std::int64_t stop = std::min(end, first + kChunk);
    const auto n = static_cast<std::size_t>(stop - first);
    const auto operand = [&](int id) -> kernels::Operand {
      if (id < 0) return {&constants_[static_cast<std::size_t>(-1 - id)], true};
      if (id == 0) return {in + first, false};
      const int slot = slots_[static_cast<std::size_t>(id - 1)];
      return {buffers[static_cast<std::size_t>(slot)].data(), false};
    };
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      float* to = i + 1 == steps_.size() ? out + first
                                         : buffers[static_cast<std::size_t>(slots_[i])].data();
      const kernels::Operand a = operand(step.a);
      if (!step.quantizes) {
        arithmetic(step.op, a, operand(step.b), to, n);
      } else if (plans[i] != nullptr) {
        plans[i]->apply_piece(a.data, to, shape, first, stop);
      } else if (to != a.data) {
        std::memcpy(to, a.data, n * sizeof(float));
      }
    }
  }
}

}  // namespace bitsweep
