// Writes an HTML report from a results file: for the browser tests and for pictures in the docs.
//
//   bitsweep_report_demo results.json report.html
//
// The file holds what `bitsweep sweep` writes; these keys are read too: "title", "metric" (text),
// "better" ("higher" or "lower"), "order" (names along the x axis; default: by rank), "patterns",
// "details_label", "gram" (rows of inner products, for interactions), "sentences", "links" (text by
// file), "next".

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "bitsweep/report.h"

namespace {

using Json = nlohmann::ordered_json;

double score_of(const Json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

// One output; `gram`: rows in the order of the ranking.
bitsweep::Interactions interactions_of(const Json& gram, const std::vector<std::string>& groups) {
  bitsweep::Interactions interactions;
  interactions.groups = groups;
  interactions.num_rows = groups.size();
  bitsweep::Interactions::Output& output = interactions.outputs.emplace_back();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    interactions.rows.push_back(i);
    for (const Json& value : gram.at(i)) output.gram.push_back(value.get<double>());
  }
  return interactions;
}

bitsweep::SensitivityPage page_of(const Json& json) {
  bitsweep::SensitivityPage page;
  page.title = json.value("title", "");
  page.metric = json.value("metric", "Score");
  if (const std::string unit = json.value("unit", ""); !unit.empty())
    page.metric += " (" + unit + ")";
  page.higher_is_worse = json.value("better", "higher") == "lower";
  page.highlight_patterns = json.value("patterns", bitsweep::default_highlight_patterns());
  page.details_label = json.value("details_label", "");
  if (json.contains("facts")) {
    for (const auto& [name, value] : json["facts"].items())
      page.facts.emplace_back(name, value.get<std::string>());
  }
  std::map<std::string, const Json*> rows;
  std::vector<std::string> order;
  bool details = false;
  for (const Json& row : json.at("ranking")) {
    order.push_back(row.at("name").get<std::string>());
    rows[order.back()] = &row;
    details = details || row.contains("detail");
  }
  for (const std::string& name : json.value("order", order)) {
    const Json& row = *rows.at(name);
    page.scores.emplace_back(name, score_of(row.at("score")));
    if (row.contains("interval"))
      page.intervals.emplace_back(score_of(row["interval"][0]), score_of(row["interval"][1]));
    page.tied_with_next.push_back(row.value("tied_with_next", false));
    page.repeats.push_back(row.value("repeats", false));
    if (details) page.details.push_back(row.value("detail", ""));
  }
  page.intro.sentences = json.value("sentences", page.intro.sentences);
  page.intro.next_command = json.value("next", "");
  const Json links = json.value("links", Json::object());
  for (const auto& [file, text] : links.items())
    page.intro.links.emplace_back(file, text.get<std::string>());
  if (json.contains("gram")) page.interactions = interactions_of(json["gram"], order);
  return page;
}

bitsweep::RangesPage ranges_page_of(const Json& json) {
  bitsweep::RangesPage page;
  page.title = json.value("title", "");
  page.kind = json.value("kind", page.kind);
  for (const Json& row : json["ranges"]) {
    page.entries.push_back(
        {row.at("name").get<std::string>(), score_of(row.at("min")), score_of(row.at("max"))});
  }
  return page;
}

bitsweep::LinesPage lines_page_of(const Json& json) {
  bitsweep::LinesPage page;
  page.title = json.value("title", "");
  for (const auto& [name, value] : json["values"].items())
    page.values.emplace_back(name, score_of(value));
  return page;
}

bitsweep::HistogramsPage histograms_page_of(const Json& json) {
  bitsweep::HistogramsPage page;
  page.title = json.value("title", "");
  for (const Json& item : json["histograms"]) {
    page.histograms.push_back(
        {item.at("name").get<std::string>(), item.at("begin").get<double>(),
         item.at("width").get<double>(), item.at("probabilities").get<std::vector<double>>(),
         item.at("encoding_min").get<double>(), item.at("encoding_max").get<double>()});
  }
  return page;
}

bitsweep::FrontierPage frontier_page_of(const Json& json) {
  bitsweep::FrontierPage page;
  page.title = json.value("title", page.title);
  page.cost_label = json.value("cost_label", "");
  page.types = json.value("types", page.types);
  page.groups = json.value("groups", page.groups);
  page.chosen = json.value("chosen", page.chosen);
  if (json.contains("wanted")) page.wanted = score_of(json["wanted"]);
  for (const Json& point : json["points"]) {
    bitsweep::FrontierPage::Point& shown = page.points.emplace_back();
    shown.cost = score_of(point.at("cost"));
    shown.quality = score_of(point.at("quality"));
    if (point.contains("predicted")) shown.predicted = score_of(point["predicted"]);
    shown.types = point.value("types", shown.types);
  }
  return page;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: bitsweep_report_demo results.json report.html\n");
    return 2;
  }
  try {
    std::ifstream file(argv[1]);
    if (!file) throw std::runtime_error(std::string(argv[1]) + " cannot be read");
    const Json json = Json::parse(file);
    if (json.contains("ranges")) {
      bitsweep::write_ranges_page(ranges_page_of(json), argv[2]);
    } else if (json.contains("values")) {
      bitsweep::write_lines_page(lines_page_of(json), argv[2]);
    } else if (json.contains("points")) {
      bitsweep::write_frontier_page(frontier_page_of(json), argv[2]);
    } else if (json.contains("histograms")) {
      bitsweep::write_histograms_page(histograms_page_of(json), argv[2]);
    } else {
      bitsweep::write_sensitivity_page(page_of(json), argv[2]);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bitsweep_report_demo: %s\n", error.what());
    return 1;
  }
  return 0;
}
