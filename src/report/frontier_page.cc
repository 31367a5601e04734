#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/report.h"
#include "report/network_order.h"
#include "report/page.h"
#include "report/sentences.h"

namespace bitsweep {
namespace {

double bits_of(const Candidate& candidate) {
  return effective_bits(candidate.activation) *
         (candidate.parameter ? effective_bits(*candidate.parameter) : 1.0);
}

// Texts of all candidates that some point uses, most bits first.
std::vector<std::string> types_of(const std::vector<const MixPoint*>& points) {
  std::map<std::string, double> bits;
  for (const MixPoint* point : points) {
    for (const Candidate& c : point->by_group) bits.emplace(mix_candidate_text(c), bits_of(c));
  }
  std::vector<std::string> types;
  for (const auto& [text, unused] : bits) types.push_back(text);
  std::sort(types.begin(), types.end(), [&](const std::string& a, const std::string& b) {
    return std::pair(-bits.at(a), a) < std::pair(-bits.at(b), b);
  });
  return types;
}

}  // namespace

FrontierPage frontier_page(const Simulation& simulation, const MixResult& result,
                           const std::string& cost, const std::vector<MixTarget>& targets) {
  const std::size_t axis = mix_cost_index(cost);
  FrontierPage page{.cost_label = mix_costs()[axis].summary};
  std::vector<const MixPoint*> points;
  for (const MixPoint& point : result.frontier) points.push_back(&point);
  const MixPoint* chosen = result.chosen ? &*result.chosen : nullptr;
  if (chosen != nullptr) {
    // The choice is mostly a point of the curve already.
    const auto same = std::find_if(points.begin(), points.end(), [&](const MixPoint* p) {
      return p->by_group == chosen->by_group;
    });
    if (same != points.end()) {
      *same = chosen;
    } else {
      points.insert(std::upper_bound(points.begin(), points.end(), chosen,
                                     [&](const MixPoint* a, const MixPoint* b) {
                                       return a->costs.at(axis) < b->costs.at(axis);
                                     }),
                    chosen);
    }
    page.chosen =
        static_cast<int>(std::find(points.begin(), points.end(), chosen) - points.begin());
  }
  page.types = types_of(points);
  std::vector<std::vector<std::string>> tensors;
  for (const QuantizerGroup& group : result.groups) {
    tensors.push_back(group.activations);
    tensors.back().insert(tensors.back().end(), group.parameters.begin(), group.parameters.end());
  }
  const std::vector<std::size_t> order = report::network_order(simulation, tensors);
  for (const std::size_t g : order) page.groups.push_back(group_name(result.groups[g]));
  for (const MixPoint* point : points) {
    FrontierPage::Point& shown = page.points.emplace_back();
    shown.cost = point->costs.at(axis);
    shown.quality = point->measured_db;
    shown.predicted = point->predicted_db;
    for (const std::size_t g : order) {
      const auto type =
          std::find(page.types.begin(), page.types.end(), mix_candidate_text(point->by_group[g]));
      shown.types.push_back(static_cast<int>(type - page.types.begin()));
    }
  }
  for (const MixTarget& target : targets) {
    page.facts.emplace_back(
        "target", fmt::format("{} {} {:g}", target.name, target.at_least ? "\u2265" : "\u2264",
                              target.value));
    if (target.name == "sqnr") page.wanted = target.value;
  }
  if (!result.infeasible.empty()) page.facts.emplace_back("infeasible", result.infeasible);
  if (result.test_db)
    page.facts.emplace_back("on test data", fmt::format("{:.2f} dB", *result.test_db));
  for (const MixCheck& check : result.checks) {
    page.facts.emplace_back(
        check.name + " on test data",
        fmt::format("{:.4g}{}{}", check.score, check.unit.empty() ? "" : " ", check.unit));
  }
  page.intro.sentences = report::mix_sentences(result, cost);
  if (std::string missed = missed_on_test(result, targets); !missed.empty())
    page.intro.sentences.push_back(std::move(missed));
  return page;
}

void write_frontier_page(const FrontierPage& page, const std::filesystem::path& path) {
  if (page.points.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "report", "there are no points to show",
                "give the result of a mix with frontier points");
  }
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (const FrontierPage::Point& point : page.points) {
    if (!point.types.empty() && point.types.size() != page.groups.size()) {
      throw Error(ErrorCode::kInvalidArgument, "report",
                  fmt::format("a point has types for {} groups, there are {}", point.types.size(),
                              page.groups.size()),
                  "give one type for each group");
    }
    points.push_back({{"cost", report::json_number(point.cost)},
                      {"quality", report::json_number(point.quality)},
                      {"predicted", point.predicted ? report::json_number(*point.predicted)
                                                    : nlohmann::ordered_json(nullptr)},
                      {"types", point.types}});
  }
  nlohmann::ordered_json fields{{"intro", report::intro_json(page.intro)},
                                {"cost_label", page.cost_label},
                                {"quality_label", page.quality_label},
                                {"types", page.types},
                                {"groups", page.groups},
                                {"points", std::move(points)},
                                {"chosen", page.chosen},
                                {"wanted", nullptr}};
  if (page.wanted) fields["wanted"] = report::json_number(*page.wanted);
  report::write_page(report::make_page("frontier", page.title, page.facts, fields), path);
}

}  // namespace bitsweep
