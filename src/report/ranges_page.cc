#include <nlohmann/json.hpp>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/page.h"

namespace bitsweep {
namespace {

using Json = nlohmann::ordered_json;

void check_bounds(const char* what, double low, double high) {
  if (low < high) return;  // false for NaN, too
  throw Error(ErrorCode::kInvalidArgument, "report",
              std::string("the lower ") + what + " is not below the upper one",
              "swap or change the two");
}

}  // namespace

report::Page report::page_of(const RangesPage& page) {
  if (page.entries.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "report", "there are no ranges to show",
                "calibrate the simulation first and leave a quantizer enabled");
  }
  check_bounds("display limit", page.display_min, page.display_max);
  check_bounds("threshold", page.threshold_min, page.threshold_max);
  const std::string title =
      page.title.empty() ? "Quantizer ranges (" + page.kind + "s)" : page.title;
  Json entries = Json::array();
  for (const RangeEntry& entry : page.entries) {
    entries.push_back({{"name", entry.name},
                       {"min", report::json_number(entry.min)},
                       {"max", report::json_number(entry.max)}});
  }
  return report::make_page("ranges", title, page.facts,
                           {{"kind", page.kind},
                            {"display_limits", Json::array({page.display_min, page.display_max})},
                            {"thresholds", Json::array({page.threshold_min, page.threshold_max})},
                            {"entries", std::move(entries)}});
}

void write_ranges_page(const RangesPage& page, const std::filesystem::path& path) {
  report::write_page(report::page_of(page), path);
}

}  // namespace bitsweep
