#include <charconv>

#include "bitsweep/error.h"
#include "bitsweep/mix.h"

namespace bitsweep {
namespace {

constexpr std::string_view kFloat = "float";

[[noreturn]] void reject(std::string_view text) {
  throw Error(ErrorCode::kInvalidArgument, "mix", "\"" + std::string(text) + "\" is no candidate",
              "write bits of weights and activations such as W8A16, or float");
}

}  // namespace

Candidate parse_mix_candidate(std::string_view text) {
  if (text == kFloat) return {Format::parse("float32"), Format::parse("float32")};
  const char* at = text.data();
  const char* const end = at + text.size();
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

std::string mix_candidate_text(const Candidate& candidate) {
  const bool is_integer =
      candidate.activation.is_integer() && candidate.parameter && candidate.parameter->is_integer();
  if (is_integer) {
    return "W" + std::to_string(candidate.parameter->bitwidth) + "A" +
           std::to_string(candidate.activation.bitwidth);
  }
  return candidate == parse_mix_candidate(kFloat) ? std::string(kFloat) : candidate_text(candidate);
}

}  // namespace bitsweep
