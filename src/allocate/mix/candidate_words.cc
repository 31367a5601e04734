#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/mix.h"
#include "bitsweep/names.h"
#include "calibrate/scheme_names.h"

namespace bitsweep {
namespace {

constexpr std::string_view kFloat = "float";
constexpr std::string_view kPerTensor = "per_tensor";
constexpr std::string_view kPerChannel = "per_channel";
constexpr std::string_view kBlock = "block";
constexpr std::string_view kPercentile = "percentile";
const Candidate kFloatCandidate{Format::parse("float32"), Format::parse("float32")};

[[noreturn]] void reject(std::string_view text, const std::string& why = "") {
  throw Error(ErrorCode::kInvalidArgument, "types",
              "\"" + std::string(text) + "\" is no choice of bit-widths" + why,
              did_you_mean(text, std::vector<std::string>{std::string(kFloat)}) +
                  "write bits of weights and activations such as W8A16, W4A8@block32 or W8A8@mse, "
                  "or float");
}

/// What follows `word` in the text; nullopt when the text begins otherwise.
std::optional<std::string_view> after(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  return text.substr(word.size());
}

/// The number that is the whole text.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [next, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || next != end) return std::nullopt;
  return value;
}

bool is_granularity(std::string_view word) {
  return word == kPerTensor || word == kPerChannel || word.starts_with(kBlock);
}

bool is_estimator(std::string_view word) {
  const std::vector<std::string> schemes = calibrate::scheme_names();
  return word.starts_with(kPercentile) ||
         std::find(schemes.begin(), schemes.end(), word) != schemes.end();
}

/// For a word behind "@" that is neither a granularity nor an estimator.
Error unknown_range(std::string_view word) {
  std::vector<std::string> known{std::string(kPerTensor), std::string(kPerChannel),
                                 std::string(kBlock) + "32"};
  for (std::string& scheme : calibrate::scheme_names()) known.push_back(std::move(scheme));
  return unknown_name("types", "granularity or range estimator", word, known);
}

Candidate parse_types(std::string_view types, std::string_view text) {
  if (types == kFloat) return kFloatCandidate;
  const char* at = types.data();
  const char* const end = at + types.size();
  const auto take = [&](char letter) {
    int width = 0;
    if (at == end || (*at & ~0x20) != letter) reject(text);
    const auto [next, error] = std::from_chars(at + 1, end, width);
    if (error != std::errc()) reject(text);
    at = next;
    return Format::integer(width);
  };
  Candidate candidate;
  candidate.parameter = take('W');
  candidate.activation = take('A');
  if (at != end) reject(text);
  return candidate;
}

/// "@block32@mse", or nothing.
std::string ranges_text(const Candidate& candidate) {
  std::string text;
  if (candidate.granularity) text += "@" + weight_granularity_text(*candidate.granularity);
  if (candidate.estimator) text += "@" + range_estimator_text(*candidate.estimator);
  return text;
}

}  // namespace

WeightGranularity parse_weight_granularity(std::string_view text) {
  using Kind = WeightGranularity::Kind;
  if (text == kPerTensor) return {Kind::kPerTensor};
  if (text == kPerChannel) return {Kind::kPerChannel};
  if (const auto rest = after(text, kBlock)) {
    const std::optional<int> size = number_in<int>(*rest);
    if (size && *size > 0) return {Kind::kBlock, *size};
  }
  throw Error(ErrorCode::kInvalidArgument, "types",
              "\"" + std::string(text) + "\" is no granularity of weights",
              "write per_tensor, per_channel, or blocks such as block32");
}

std::string weight_granularity_text(const WeightGranularity& granularity) {
  using Kind = WeightGranularity::Kind;
  if (granularity.kind == Kind::kBlock)
    return std::string(kBlock) + std::to_string(granularity.block_size);
  return std::string(granularity.kind == Kind::kPerChannel ? kPerChannel : kPerTensor);
}

RangeEstimator parse_range_estimator(std::string_view text) {
  const auto rest = after(text, kPercentile);
  if (!rest) return {.scheme = parse_scheme(text)};
  const std::optional<double> percent = number_in<double>(*rest);
  if (!percent || !(*percent > 0.0 && *percent <= 100.0)) {
    throw Error(ErrorCode::kInvalidArgument, "types",
                "\"" + std::string(text) + "\" has no percent above 0 and up to 100",
                "write for example percentile99.9");
  }
  return {.scheme = Scheme::kPercentile, .percentile = *percent};
}

std::string range_estimator_text(const RangeEstimator& estimator) {
  const std::string name(scheme_name(estimator.scheme));
  return estimator.scheme == Scheme::kPercentile ? fmt::format("{}{}", name, estimator.percentile)
                                                 : name;
}

Candidate parse_mix_candidate(std::string_view text) {
  std::string_view rest = text.substr(0, text.find('@'));
  Candidate candidate = parse_types(rest, text);
  for (std::size_t at = rest.size(); at < text.size(); at += 1 + rest.size()) {
    if (candidate == kFloatCandidate) reject(text, ": a float has no ranges");
    rest = text.substr(at + 1);
    rest = rest.substr(0, rest.find('@'));
    if (is_granularity(rest)) {
      if (candidate.granularity) reject(text, ": it names two granularities");
      candidate.granularity = parse_weight_granularity(rest);
    } else {
      if (!is_estimator(rest)) throw unknown_range(rest);
      if (candidate.estimator) reject(text, ": it names two range estimators");
      candidate.estimator = parse_range_estimator(rest);
    }
  }
  return candidate;
}

std::string mix_candidate_text(const Candidate& candidate) {
  const bool is_integer =
      candidate.activation.is_integer() && candidate.parameter && candidate.parameter->is_integer();
  if (is_integer) {
    return "W" + std::to_string(candidate.parameter->bitwidth) + "A" +
           std::to_string(candidate.activation.bitwidth) + ranges_text(candidate);
  }
  return candidate == kFloatCandidate ? std::string(kFloat) : candidate_text(candidate);
}

std::string candidate_text(const Candidate& candidate) {
  const std::string activation = candidate.activation.name();
  return (candidate.parameter ? activation + "/" + candidate.parameter->name() : activation) +
         ranges_text(candidate);
}

}  // namespace bitsweep
