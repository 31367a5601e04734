#include <nlohmann/json.hpp>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/page.h"

namespace bitsweep {

report::Page report::page_of(const HistogramsPage& page) {
  if (page.histograms.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "report", "there are no histograms to show",
                "calibrate with a scheme that keeps histograms");
  }
  nlohmann::ordered_json histograms = nlohmann::ordered_json::array();
  for (const Histogram& histogram : page.histograms) {
    if (histogram.probabilities.empty() || !(histogram.width > 0.0)) {
      throw Error(ErrorCode::kInvalidArgument, "report",
                  "the histogram of \"" + histogram.name + "\" has no buckets",
                  "give at least one, with a positive width");
    }
    nlohmann::ordered_json probabilities = nlohmann::ordered_json::array();
    for (const double value : histogram.probabilities)
      probabilities.push_back(report::json_number(value));
    histograms.push_back({{"name", histogram.name},
                          {"begin", histogram.begin},
                          {"width", histogram.width},
                          {"probabilities", std::move(probabilities)},
                          {"encoding_min", report::json_number(histogram.encoding_min)},
                          {"encoding_max", report::json_number(histogram.encoding_max)}});
  }
  const std::string title =
      page.title.empty() ? "Histogram of " + page.histograms.front().name : page.title;
  return report::make_page("histograms", title, page.facts,
                           {{"histograms", std::move(histograms)}});
}

void write_histograms_page(const HistogramsPage& page, const std::filesystem::path& path) {
  report::write_page(report::page_of(page), path);
}

}  // namespace bitsweep
