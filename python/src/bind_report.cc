#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind.h"
#include "bitsweep/analysis.h"
#include "bitsweep/report.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {

void bind_report(nb::module_& m) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  m.def("default_highlight_patterns", &default_highlight_patterns);
  m.def(
      "write_sensitivity_page",
      [](const std::filesystem::path& path, std::string title, std::string metric,
         bool higher_is_worse, std::vector<std::pair<std::string, double>> scores,
         std::vector<std::string> highlight_patterns, std::string details_label,
         std::vector<std::string> details, Pairs facts) {
        SensitivityPage page;
        page.title = std::move(title);
        page.metric = std::move(metric);
        page.higher_is_worse = higher_is_worse;
        page.scores = std::move(scores);
        page.highlight_patterns = std::move(highlight_patterns);
        page.details_label = std::move(details_label);
        page.details = std::move(details);
        page.facts = std::move(facts);
        nb::gil_scoped_release release;
        write_sensitivity_page(page, path);
      },
      "path"_a, nb::kw_only(), "title"_a, "metric"_a, "higher_is_worse"_a, "scores"_a,
      "highlight_patterns"_a, "details_label"_a = "", "details"_a = std::vector<std::string>(),
      "facts"_a = Pairs());
  m.def(
      "write_sweep_page",
      [](const std::filesystem::path& path, const Simulation& simulation,
         const SweepResult& result) {
        nb::gil_scoped_release release;
        write_sensitivity_page(sensitivity_page(simulation, result), path);
      },
      "path"_a, "simulation"_a, "result"_a);
  m.def(
      "write_ranges_page",
      [](const std::filesystem::path& path, std::string title, std::string kind,
         const std::vector<std::tuple<std::string, double, double>>& entries, Pairs facts) {
        RangesPage page;
        page.title = std::move(title);
        page.kind = std::move(kind);
        for (const auto& [name, min, max] : entries) page.entries.push_back({name, min, max});
        page.facts = std::move(facts);
        nb::gil_scoped_release release;
        write_ranges_page(page, path);
      },
      "path"_a, nb::kw_only(), "title"_a, "kind"_a, "entries"_a, "facts"_a = Pairs(),
      "`entries`: (name, smallest bound, largest bound).");
  m.def(
      "write_lines_page",
      [](const std::filesystem::path& path, std::string title,
         std::vector<std::pair<std::string, double>> values, std::string entry_label,
         std::string value_label, Pairs facts) {
        LinesPage page;
        page.title = std::move(title);
        page.entry_label = std::move(entry_label);
        page.value_label = std::move(value_label);
        page.values = std::move(values);
        page.facts = std::move(facts);
        nb::gil_scoped_release release;
        write_lines_page(page, path);
      },
      "path"_a, nb::kw_only(), "title"_a, "values"_a, "entry_label"_a = "Layer",
      "value_label"_a = "Score", "facts"_a = Pairs());
  m.def(
      "write_frontier_page",
      [](const std::filesystem::path& path, std::string title, std::string cost_label,
         std::string quality_label, const std::vector<std::pair<double, double>>& points,
         Pairs facts) {
        FrontierPage page;
        page.title = std::move(title);
        page.cost_label = std::move(cost_label);
        page.quality_label = std::move(quality_label);
        for (const auto& [cost, quality] : points)
          page.points.push_back({.cost = cost, .quality = quality});
        page.facts = std::move(facts);
        nb::gil_scoped_release release;
        write_frontier_page(page, path);
      },
      "path"_a, nb::kw_only(), "title"_a, "cost_label"_a, "quality_label"_a, "points"_a,
      "facts"_a = Pairs(), "`points`: (cost, quality), cheapest first.");
  m.def(
      "write_mix_page",
      [](const std::filesystem::path& path, const Simulation& simulation, const MixResult& result,
         const std::string& cost, const std::vector<std::string>& targets) {
        std::vector<MixTarget> parsed;
        for (const std::string& target : targets) parsed.push_back(parse_mix_target(target));
        nb::gil_scoped_release release;
        write_frontier_page(frontier_page(simulation, result, cost, parsed), path);
      },
      "path"_a, "simulation"_a, "result"_a, "cost"_a, "targets"_a);
  m.def("write_layer_values", &write_layer_values, "folder"_a, "name"_a, "title"_a, "label"_a,
        "values"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("write_quantizer_ranges", &write_quantizer_ranges, "simulation"_a, "folder"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("write_quantizer_histograms", &write_quantizer_histograms, "simulation"_a, "folder"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("sweep_run_info_to_json", &sweep_run_info_to_json, "result"_a);
  m.def(
      "sweep_to_json",
      [](const SweepResult& result, const Pairs& facts) { return sweep_to_json(result, facts); },
      "result"_a, "facts"_a = Pairs());
  m.def("write_text_file", &write_text_file, "path"_a, "text"_a,
        nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace bitsweep::python
