#include "allocate/mix/output_change.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace bitsweep::allocate {
namespace {

// An output of more elements than this is folded to this length with random signs, which keeps
// inner products up to 1 / sqrt(length) of the norms.
constexpr std::size_t kSketchLength = 4096;

std::uint64_t mixed(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

}  // namespace

bool ComparedOutputs::has(std::size_t position) const {
  return positions_.empty() ||
         std::ranges::find(positions_, static_cast<int>(position)) != positions_.end();
}

std::string ComparedOutputs::key(std::string_view what) const {
  std::string text(what);
  for (const int position : positions_) text += " " + std::to_string(position);
  return text;
}

OutputChange change_of(const std::vector<Tensor>& outputs, const std::vector<Tensor>& reference,
                       const ComparedOutputs& compared) {
  OutputChange change;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const bool counts = compared.has(o) && is_quantizable_type(reference[o].type());
    const Tensor was = counts ? reference[o].to_float() : Tensor();
    const std::size_t size = was.defined() ? was.floats().size() : 0;
    const std::size_t length = std::min(size, kSketchLength);
    const std::size_t head = change.size();
    change.resize(head + 2 + length, 0.0);
    change[head + 1] = static_cast<double>(length);
    if (was.defined() && outputs[o].shape() != was.shape()) return {NAN};
    if (size == 0) continue;
    const Tensor is = outputs[o].to_float();
    const bool folded = size > kSketchLength;
    for (std::size_t i = 0; i < size; ++i) {
      const double d = static_cast<double>(is.floats()[i]) - was.floats()[i];
      if (!std::isfinite(d)) return {NAN};
      change[head] += d * d;
      const std::uint64_t hash = folded ? mixed(i) : i;
      const double sign = folded && (hash >> 63U) != 0 ? -1.0 : 1.0;
      change[head + 2 + hash % kSketchLength] += sign * d;
    }
  }
  return change;
}

bool is_finite(const OutputChange& change) { return change.size() != 1; }

double weighted(const OutputChange& change, const std::vector<double>& weights,
                std::vector<float>* values) {
  double squared = 0.0;
  std::size_t at = 0;
  for (const double weight : weights) {
    squared += weight * weight * change[at];
    const auto length = static_cast<std::size_t>(change[at + 1]);
    at += 2;
    for (const std::size_t end = at + length; at < end; ++at)
      values->push_back(static_cast<float>(weight * change[at]));
  }
  return squared;
}

}  // namespace bitsweep::allocate
