#include <nlohmann/json.hpp>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/page.h"

namespace bitsweep {

report::Page report::page_of(const LinesPage& page) {
  if (page.values.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "report", "there are no values to show",
                "give the result of an analysis");
  }
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const auto& [name, value] : page.values) {
    entries.push_back({{"name", name}, {"value", report::json_number(value)}});
  }
  const std::string title =
      page.title.empty() ? page.value_label + " by " + page.entry_label : page.title;
  return report::make_page("lines", title, page.facts,
                           {{"entry_label", page.entry_label},
                            {"value_label", page.value_label},
                            {"entries", std::move(entries)}});
}

void write_lines_page(const LinesPage& page, const std::filesystem::path& path) {
  report::write_page(report::page_of(page), path);
}

}  // namespace bitsweep
