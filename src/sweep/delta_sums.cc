#include "sweep/delta_sums.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "sweep/metrics/sums.h"

namespace bitsweep::sweeping {
namespace {

constexpr std::size_t kSketch = 8192;

std::uint64_t mixed(std::uint64_t value) {  // SplitMix64 (Steele et al. 2014)
  std::uint64_t z = value + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// Count sketch: every value goes with a random sign into a random cell, the same for all deltas, so
// inner products stay right on average. Source: Charikar, Chen, Farach-Colton 2002, Finding
// Frequent Items in Data Streams.
std::vector<float> sketched(std::span<const float> values) {
  std::vector<double> cells(kSketch, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t random = mixed(i);
    const double value = values[i];
    cells[random % kSketch] += (random >> 63) != 0 ? value : -value;
  }
  return {cells.begin(), cells.end()};
}

void join(std::vector<Interactions::Output>* total, const std::vector<Interactions::Output>& part) {
  if (total->empty()) {
    *total = part;
    return;
  }
  for (std::size_t o = 0; o < part.size(); ++o) {
    Interactions::Output& into = (*total)[o];
    for (std::size_t i = 0; i < into.gram.size(); ++i) into.gram[i] += part[o].gram[i];
    into.signal_energy += part[o].signal_energy;
    into.num_values += part[o].num_values;
    into.min = std::min(into.min, part[o].min);
    into.max = std::max(into.max, part[o].max);
  }
}

}  // namespace

DeltaSums::DeltaSums(std::size_t num_states, std::vector<int> outputs)
    : num_states_(num_states), outputs_(std::move(outputs)) {}

std::vector<int> DeltaSums::compared(std::span<const Tensor> reference) const {
  if (!outputs_.empty()) return outputs_;
  std::vector<int> all;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const DataType type = reference[i].type();
    if (is_quantizable_type(type) || type == DataType::kDouble) all.push_back(static_cast<int>(i));
  }
  return all;
}

Delta DeltaSums::delta(std::span<const Tensor> simulated, std::span<const Tensor> reference) const {
  Delta delta;
  for (const int output : compared(reference)) {
    const auto at = static_cast<std::size_t>(output);
    const Tensor q = simulated[at].to_float();
    const Tensor r = reference[at].to_float();
    std::vector<float> change(r.floats().size(), std::numeric_limits<float>::quiet_NaN());
    if (q.shape() == r.shape())
      std::ranges::transform(q.floats(), r.floats(), change.begin(), std::minus<>());
    delta.push_back(change.size() > kSketch ? sketched(change) : std::move(change));
  }
  return delta;
}

void DeltaSums::add_sample(std::int64_t sample, const std::vector<Delta>& deltas,
                           std::span<const Tensor> reference) {
  std::vector<Interactions::Output> part;
  const std::vector<int> outputs = compared(reference);
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    Interactions::Output output;
    output.index = outputs[o];
    const Tensor values = reference[static_cast<std::size_t>(outputs[o])].to_float();
    output.signal_energy = scoring::sum_of_squares(values.floats());
    output.num_values = static_cast<double>(values.size());
    if (values.size() > 0) {
      const scoring::MinMax range = scoring::min_max(values.floats());
      output.min = range.min;
      output.max = range.max;
    }
    output.gram.assign(num_states_ * num_states_, 0.0);
    for (std::size_t a = 0; a < num_states_; ++a) {
      for (std::size_t b = a; b < num_states_; ++b) {
        const double product = scoring::dot(deltas[a][o], deltas[b][o]);
        output.gram[a * num_states_ + b] = product;
        output.gram[b * num_states_ + a] = product;
      }
    }
    part.push_back(std::move(output));
  }
  const std::lock_guard lock(mutex_);
  waiting_.emplace(sample, std::move(part));
  // Sums of doubles depend on their order: samples are added in theirs.
  for (auto it = waiting_.find(next_); it != waiting_.end(); it = waiting_.find(next_)) {
    join(&total_, it->second);
    waiting_.erase(it);
    ++next_;
  }
}

std::int64_t DeltaSums::num_samples() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

Interactions DeltaSums::result(const std::vector<std::string>& groups,
                               const std::vector<std::size_t>& state_of_group) const {
  const std::lock_guard lock(mutex_);
  return {.groups = groups, .rows = state_of_group, .num_rows = num_states_, .outputs = total_};
}

}  // namespace bitsweep::sweeping
