#include <nanobind/nanobind.h>
#include <nanobind/operators.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "bitsweep/allocation.h"
#include "bitsweep/mix.h"
#include "display.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {
namespace {

/// Hands the questions of the search to a Python object of the same methods.
class PythonEvaluator : public GreedyEvaluator {
 public:
  explicit PythonEvaluator(nb::object object) : object_(std::move(object)) {}

  void run_calibration_samples() override { object_.attr("run_calibration_samples")(); }
  bool load_encodings() override { return nb::cast<bool>(object_.attr("load_encodings")()); }
  std::optional<std::vector<double>> score_states(
      const std::vector<std::vector<std::string>>& tensors) override {
    return nb::cast<std::optional<std::vector<double>>>(object_.attr("score_states")(tensors));
  }
  double score_phase1() override { return nb::cast<double>(object_.attr("score_phase1")()); }
  double score_phase2() override { return nb::cast<double>(object_.attr("score_phase2")()); }
  void begin_states(const std::vector<std::vector<std::string>>& tensors) override {
    object_.attr("begin_states")(tensors);
  }
  // Called while the stack unwinds, too, so an exception can only be reported.
  void end_states() override {
    try {
      object_.attr("end_states")();
    } catch (nb::python_error& e) {
      e.discard_as_unraisable("end_states");
    }
  }
  Known recall(const std::string& identity) override {
    auto [entries, points] =
        nb::cast<std::pair<std::vector<GreedyEntry>, std::vector<GreedyPoint>>>(
            object_.attr("recall")(identity));
    return {std::move(entries), std::move(points)};
  }
  void keep_entries(const std::vector<GreedyEntry>& entries) override {
    object_.attr("keep_entries")(entries);
  }
  void keep_points(const std::vector<GreedyPoint>& points) override {
    object_.attr("keep_points")(points);
  }

 private:
  nb::object object_;
};

void bind_greedy_results(nb::module_& m) {
  nb::class_<GreedyEntry>(m, "GreedyEntry", "Score of one group alone with other types.")
      .def(nb::init<int, Candidate, double, double>(), "group"_a, "candidate"_a, "score"_a,
           "reduction"_a)
      .def_ro("group", &GreedyEntry::group)
      .def_ro("candidate", &GreedyEntry::candidate)
      .def_ro("score", &GreedyEntry::score)
      .def_ro("reduction", &GreedyEntry::reduction);
  nb::class_<GreedyPoint>(m, "GreedyPoint", "A measured configuration of a greedy search.")
      .def(nb::init<int, int, Candidate, double, double>(), "position"_a, "group"_a, "candidate"_a,
           "relative_bit_ops"_a, "score"_a)
      .def_ro("position", &GreedyPoint::position)
      .def_ro("group", &GreedyPoint::group)
      .def_ro("candidate", &GreedyPoint::candidate)
      .def_ro("relative_bit_ops", &GreedyPoint::relative_bit_ops)
      .def_ro("score", &GreedyPoint::score);
  nb::enum_<GreedyEnd>(m, "GreedyEnd", "Why a greedy search ended.")
      .value("SEARCHED", GreedyEnd::kSearched)
      .value("BEST_TOO_WEAK", GreedyEnd::kBestTooWeak)
      .value("LOWEST_SUFFICES", GreedyEnd::kLowestSuffices);
  nb::class_<GreedyResult>(m, "GreedyResult", "Outcome of a greedy search.")
      .def_ro("end", &GreedyResult::end)
      .def_ro("float_score", &GreedyResult::float_score)
      .def_ro("final_score", &GreedyResult::final_score)
      .def_ro("baseline", &GreedyResult::baseline)
      .def_ro("groups", &GreedyResult::groups)
      .def_ro("entries", &GreedyResult::entries)
      .def_ro("points", &GreedyResult::points)
      .def_ro("chosen", &GreedyResult::chosen)
      .def_ro("num_activations", &GreedyResult::num_activations)
      .def_ro("num_parameters", &GreedyResult::num_parameters)
      .def_ro("num_flipped_activations", &GreedyResult::num_flipped_activations)
      .def_ro("num_flipped_parameters", &GreedyResult::num_flipped_parameters)
      .def_ro("num_phase2_scores", &GreedyResult::num_phase2_scores)
      .def_ro("num_searched_points", &GreedyResult::num_searched_points)
      .def_ro("phase1_s", &GreedyResult::phase1_s)
      .def_ro("phase2_s", &GreedyResult::phase2_s);
}

}  // namespace

void bind_allocation(nb::module_& m) {
  nb::class_<Candidate>(m, "Candidate", "What a group of quantizers may become.")
      .def(nb::init<Format, std::optional<Format>>(), "activation"_a,
           "parameter"_a = std::optional<Format>())
      .def_ro("activation", &Candidate::activation)
      .def_ro("parameter", &Candidate::parameter)
      .def_prop_ro("granularity",
                   [](const Candidate& c) -> std::optional<std::string> {
                     if (!c.granularity) return std::nullopt;
                     return weight_granularity_text(*c.granularity);
                   })
      .def_prop_ro("estimator",
                   [](const Candidate& c) -> std::optional<std::string> {
                     if (!c.estimator) return std::nullopt;
                     return range_estimator_text(*c.estimator);
                   })
      .def(
          "__eq__", [](const Candidate& a, const Candidate& b) { return a == b; }, "other"_a)
      .def(
          "__eq__", [](const Candidate&, nb::handle) { return false; }, "other"_a)
      .def("__hash__",
           [](const Candidate& c) { return std::hash<std::string>()(candidate_text(c)); })
      .def("__repr__", &candidate_text);
  nb::class_<QuantizerGroup> group(m, "QuantizerGroup",
                                   "Quantizers that change their type together.");
  show_line_by_python(group, "group");
  group.def_ro("activations", &QuantizerGroup::activations)
      .def_ro("parameters", &QuantizerGroup::parameters);
  bind_greedy_results(m);

  m.def("supported_kernels", &supported_kernels, "simulation"_a,
        "Kernels that the rules list, by operator type or \"defaults\".");
  m.def("quantizer_groups", &quantizer_groups, "simulation"_a);
  m.def(
      "greedy_search",
      [](Simulation& simulation, std::vector<Candidate> candidates, nb::object evaluator,
         std::optional<double> allowed_drop, std::string search, bool ignore_kernels,
         bool share_calibration, bool baseline_by_bits) {
        GreedyOptions options;
        options.candidates = std::move(candidates);
        options.allowed_drop = allowed_drop;
        options.search = std::move(search);
        options.ignore_kernels = ignore_kernels;
        options.share_calibration = share_calibration;
        options.baseline_by_bits = baseline_by_bits;
        PythonEvaluator caller(std::move(evaluator));
        return greedy_search(simulation, options, caller);
      },
      "simulation"_a, "candidates"_a, "evaluator"_a, "allowed_drop"_a.none(), "search"_a = "binary",
      "ignore_kernels"_a = false, "share_calibration"_a = true, "baseline_by_bits"_a = false,
      "`evaluator`: an object with the methods of bitsweep::GreedyEvaluator.");
  m.def(
      "isolated_scores",
      [](Simulation& simulation, const Candidate& candidate, nb::object evaluator) {
        PythonEvaluator caller(std::move(evaluator));
        IsolatedScores result = isolated_scores(simulation, candidate, caller);
        return std::pair(std::move(result.groups), std::move(result.scores));
      },
      "simulation"_a, "candidate"_a, "evaluator"_a,
      "(groups, score of each alone) with every enabled quantizer set to the candidate.");
}

}  // namespace bitsweep::python
