#include "bitsweep/calibration.h"

#include <array>
#include <string>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/names.h"
#include "calibrate/methods/histogram_observer.h"
#include "calibrate/methods/min_max.h"
#include "calibrate/scheme_names.h"

namespace bitsweep {
namespace {

struct NamedScheme {
  std::string_view name;
  Scheme scheme;
};

// The first name of a scheme is the one it is shown by.
constexpr std::array<NamedScheme, 6> kSchemes = {{
    {"min_max", Scheme::kMinMax},
    {"tf", Scheme::kMinMax},
    {"tf_enhanced", Scheme::kTfEnhanced},
    {"percentile", Scheme::kPercentile},
    {"mse", Scheme::kMse},
    {"entropy", Scheme::kEntropy},
}};

}  // namespace

namespace calibrate {

std::vector<std::string> scheme_names() {
  std::vector<std::string> names;
  names.reserve(kSchemes.size());
  for (const NamedScheme& row : kSchemes) names.emplace_back(row.name);
  return names;
}

}  // namespace calibrate

Scheme parse_scheme(std::string_view name) {
  for (const NamedScheme& row : kSchemes) {
    if (row.name == name) return row.scheme;
  }
  throw unknown_name("calibrate", "scheme", name, calibrate::scheme_names());
}

std::string_view scheme_name(Scheme scheme) {
  for (const NamedScheme& row : kSchemes) {
    if (row.scheme == scheme) return row.name;
  }
  throw Error(ErrorCode::kInvalidArgument, "calibrate", "this number is not a scheme",
              "use a value of the enumeration");
}

std::unique_ptr<Observer> make_observer(const ObserverOptions& options,
                                        const Granularity& granularity, const Shape& shape) {
  if (!(options.percentile > 0.0 && options.percentile <= 100.0)) {
    throw Error(ErrorCode::kInvalidArgument, "calibrate",
                "the percentile is " + std::to_string(options.percentile),
                "give percent above 0 and up to 100");
  }
  if (options.scheme == Scheme::kMinMax)
    return std::make_unique<MinMaxObserver>(granularity, shape);
  return std::make_unique<HistogramObserver>(options, granularity, shape);
}

}  // namespace bitsweep
