#include "graph/qdq/exact_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

namespace bitsweep::graph {
namespace {

constexpr std::string_view kPrefix = "bitsweep.exact_scale.";

}  // namespace

void note_exact_scale(onnx::ModelProto& model, const std::string& scale,
                      const std::vector<double>& values) {
  onnx::StringStringEntryProto* entry = model.add_metadata_props();
  entry->set_key(std::string(kPrefix) + scale);
  entry->set_value(fmt::format("{}", fmt::join(values, ",")));
}

std::vector<double> exact_scale(const onnx::ModelProto& model, const std::string& scale,
                                const std::vector<float>& stored) {
  std::vector<double> rounded(stored.begin(), stored.end());
  const std::string key = std::string(kPrefix) + scale;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key() != key) continue;
    std::vector<double> values;
    const char* at = entry.value().data();
    const char* const end = at + entry.value().size();
    while (at < end) {
      double value = 0.0;
      const auto [next, error] = std::from_chars(at, end, value);
      if (error != std::errc() || (next != end && *next != ',')) return rounded;
      values.push_back(value);
      at = next == end ? end : next + 1;
    }
    const bool fits = std::equal(values.begin(), values.end(), stored.begin(), stored.end(),
                                 [](double v, float s) { return static_cast<float>(v) == s; });
    return fits ? values : rounded;
  }
  return rounded;
}

void drop_exact_scales(onnx::ModelProto& model) {
  auto* metadata = model.mutable_metadata_props();
  metadata->erase(
      std::remove_if(metadata->begin(), metadata->end(),
                     [](const auto& entry) { return entry.key().starts_with(kPrefix); }),
      metadata->end());
}

}  // namespace bitsweep::graph
