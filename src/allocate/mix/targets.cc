#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/mix.h"
#include "bitsweep/names.h"

namespace bitsweep {
namespace {

constexpr const char* kQuality = "sqnr";

[[noreturn]] void reject(std::string_view text, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, "mix", "target \"" + std::string(text) + "\": " + why,
              "write for example \"sqnr>=35\", \"bops<=0.6\" or \"bytes<=12MB\"");
}

void require_known(const std::string& name) {
  std::vector<std::string> known{kQuality};
  for (const MixCostInfo& cost : mix_costs()) known.push_back(cost.name);
  if (std::find(known.begin(), known.end(), name) == known.end())
    throw unknown_name("mix", "quality or cost", name, known);
}

bool is_share(std::string_view name) { return name == "bops" || name == "share16"; }

double bytes_of(std::string_view unit, std::string_view text) {
  std::string_view rest = unit;
  double factor = 1.0;
  constexpr std::string_view kPrefixes = "kMGT";
  const std::size_t prefix = kPrefixes.find(rest.front() == 'K' ? 'k' : rest.front());
  if (prefix != std::string_view::npos) {
    rest.remove_prefix(1);
    const bool binary = !rest.empty() && rest.front() == 'i';
    if (binary) rest.remove_prefix(1);
    factor = std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(prefix + 1));
  }
  if (!rest.empty() && rest != "B")
    reject(text, "\"" + std::string(unit) + "\" is no unit of bytes");
  return factor;
}

/// What a value in a unit is multiplied by.
double factor_of(std::string_view unit, const std::string& name, std::string_view text) {
  if (unit.empty()) return 1.0;
  if (name == "bytes" || name == "peak") return bytes_of(unit, text);
  if (is_share(name) && unit == "%") return 0.01;
  if (name == kQuality && unit == "dB") return 1.0;
  if (name == "latency" && unit == "ms") return 1.0;
  reject(text, "\"" + std::string(unit) + "\" is no unit of " + name);
}

}  // namespace

MixTarget parse_mix_target(std::string_view text) {
  const std::size_t sign = text.find_first_of("<>");
  if (sign == std::string_view::npos || sign == 0 || sign + 1 >= text.size() ||
      text[sign + 1] != '=')
    reject(text, "it has no \">=\" or \"<=\"");
  MixTarget target{.name = std::string(text.substr(0, sign)), .at_least = text[sign] == '>'};
  while (!target.name.empty() && target.name.back() == ' ') target.name.pop_back();
  require_known(target.name);
  const bool is_quality = target.name == kQuality;
  if (is_quality != target.at_least)
    reject(text,
           is_quality ? "a quality is asked for with \">=\"" : "a cost is limited with \"<=\"");
  const std::string value(text.substr(sign + 2));
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (end == value.c_str() || !std::isfinite(number)) reject(text, "there is no number in it");
  while (*end == ' ') ++end;
  target.value = number * factor_of(end, target.name, text);
  // The share of bops may pass 1 where float is a candidate: see require_costs().
  if (target.value < 0.0 || (target.name == "share16" && target.value > 1.0) ||
      (is_quality && target.value > 100.0))
    reject(text, "the value is out of range");
  return target;
}

}  // namespace bitsweep
