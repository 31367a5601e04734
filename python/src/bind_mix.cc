#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "bitsweep/error.h"
#include "bitsweep/mix.h"
#include "display.h"
#include "progress.h"
#include "samples.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {
namespace {

/// A native source, or any iterable that can be gone through again.
class Source {
 public:
  explicit Source(nb::object samples, nb::object labels = nb::none()) {
    if (nb::try_cast(samples, source_)) return;
    own_ = std::make_unique<PythonSamples>(std::move(samples), std::move(labels));
    source_ = own_.get();
  }
  SampleSource& operator*() const { return *source_; }
  SampleSource* get() const { return source_; }

 private:
  SampleSource* source_ = nullptr;
  std::unique_ptr<PythonSamples> own_;
};

/// How far a mix is, with the number of configurations that were begun.
struct CountedProgress {
  std::string stage;
  std::int64_t done = 0;
  std::int64_t total = -1;
  std::int64_t num_mixes = 0;
};

MixResult run_mix(Simulation& simulation, nb::object calibration, nb::object search,
                  nb::object test, std::vector<Candidate> candidates,
                  const std::vector<std::string>& targets, std::string cost,
                  std::vector<int> outputs, bool ignore_kernels,
                  std::vector<std::vector<std::string>> same_format,
                  std::vector<std::pair<std::string, Candidate>> pinned, int frontier_points,
                  std::vector<double> frontier_costs, double tolerance_db, int num_threads,
                  std::int64_t max_memory_bytes, bool apart, const std::string& run_directory,
                  const std::string& latency_table, nb::object test_labels,
                  std::vector<std::string> check_metrics,
                  const std::vector<std::pair<std::string, nb::object>>& own_checks,
                  nb::object progress) {
  MixOptions options;
  options.candidates = std::move(candidates);
  for (const std::string& target : targets) options.targets.push_back(parse_mix_target(target));
  options.cost = std::move(cost);
  options.outputs = std::move(outputs);
  options.ignore_kernels = ignore_kernels;
  options.same_format = std::move(same_format);
  options.pinned = std::move(pinned);
  options.frontier_points = frontier_points;
  options.frontier_costs = std::move(frontier_costs);
  options.tolerance_db = tolerance_db;
  options.num_threads = num_threads;
  options.max_memory_bytes = max_memory_bytes;
  options.apart = apart;
  options.run_directory = run_directory;
  options.latency_table = latency_table;
  options.check_metrics = std::move(check_metrics);
  if (!test_labels.is_none()) require_use_of_labels(options.check_metrics);
  for (const auto& [name, function] : own_checks) {
    options.own_checks.emplace_back(name, [&function] {
      const nb::gil_scoped_acquire acquire;
      return nb::cast<double>(function());
    });
  }
  ProgressCaller<CountedProgress> caller(std::move(progress));
  std::int64_t num_mixes = 0;
  options.progress = [&](const MixProgress& p) {
    // Each begins with its first sample.
    if (p.stage == "measure mixes" && p.done == 1) ++num_mixes;
    return caller({p.stage, p.done, p.total, num_mixes});
  };
  const Source calibration_source(std::move(calibration));
  const Source search_source(std::move(search));
  std::unique_ptr<Source> test_source;
  if (!test.is_none())
    test_source = std::make_unique<Source>(std::move(test), std::move(test_labels));
  try {
    const nb::gil_scoped_release release;
    return mix(simulation, *calibration_source, *search_source,
               test_source ? test_source->get() : nullptr, options);
  } catch (const Error&) {
    caller.check();  // Ctrl-C, not our own words
    throw;
  }
}

}  // namespace

void bind_mix(nb::module_& m) {
  nb::class_<MixPoint> point(m, "MixPoint",
                             "One configuration with what it costs and how good it is.");
  show_line_by_python(point, "point");
  point.def_ro("by_group", &MixPoint::by_group)
      .def_ro("costs", &MixPoint::costs)
      .def_ro("predicted_db", &MixPoint::predicted_db)
      .def_ro("measured_db", &MixPoint::measured_db)
      .def_ro("expected_db", &MixPoint::expected_db);
  nb::class_<MixCheck> check(m, "MixCheck",
                             "How good a chosen configuration is by another measure.");
  show_line_by_python(check, "check");
  check.def_ro("name", &MixCheck::name)
      .def_ro("unit", &MixCheck::unit)
      .def_ro("score", &MixCheck::score)
      .def_ro("float_score", &MixCheck::float_score);
  nb::class_<MixResult> outcome(m, "MixResult", "Outcome of bitsweep.mix.");
  show_by_python(outcome, "mix");
  outcome.def_ro("groups", &MixResult::groups)
      .def_ro("chosen", &MixResult::chosen)
      .def_ro("infeasible", &MixResult::infeasible)
      .def_ro("frontier", &MixResult::frontier)
      .def_ro("test_db", &MixResult::test_db)
      .def_ro("checks", &MixResult::checks)
      .def_ro("gap", &MixResult::gap)
      .def_ro("optimal", &MixResult::optimal)
      .def_ro("agreed", &MixResult::agreed)
      .def_ro("rounds", &MixResult::rounds)
      .def_ro("num_measured", &MixResult::num_measured)
      .def_ro("num_run", &MixResult::num_run)
      .def_ro("num_kept", &MixResult::num_kept)
      .def_ro("notes", &MixResult::notes)
      .def_ro("elapsed_s", &MixResult::elapsed_s);
  nb::class_<CountedProgress>(m, "MixProgress", "How far a mix is.")
      .def_ro("stage", &CountedProgress::stage)
      .def_ro("done", &CountedProgress::done, "Samples, or evaluations.")
      .def_ro("total", &CountedProgress::total, "-1 while unknown.")
      .def_ro("num_mixes", &CountedProgress::num_mixes, "Configurations begun.");
  m.def("parse_mix_candidate", &parse_mix_candidate, "text"_a,
        "Of W8A16, W4A8@block32@mse or float.");
  m.def("mix_candidate_text", &mix_candidate_text, "candidate"_a);
  m.def("mix", &run_mix, "simulation"_a, "calibration"_a, "search"_a, "test"_a.none(),
        "candidates"_a, "targets"_a, nb::kw_only(), "cost"_a = "bops",
        "outputs"_a = std::vector<int>(), "ignore_kernels"_a = false,
        "same_format"_a = std::vector<std::vector<std::string>>(),
        "pinned"_a = std::vector<std::pair<std::string, Candidate>>(), "frontier_points"_a = 12,
        "frontier_costs"_a = std::vector<double>(), "tolerance_db"_a = 0.25, "num_threads"_a = 0,
        "max_memory_bytes"_a = 0, "apart"_a = false, "run_directory"_a = "", "latency_table"_a = "",
        "test_labels"_a = nb::none(), "check_metrics"_a = std::vector<std::string>(),
        "own_checks"_a = std::vector<std::pair<std::string, nb::object>>(),
        "progress"_a = nb::none(), "Chooses the types of all groups; see bitsweep::mix.");
  m.def(
      "mix_costs",
      [] {
        std::vector<std::pair<std::string, std::string>> result;
        for (const MixCostInfo& cost : mix_costs()) result.emplace_back(cost.name, cost.summary);
        return result;
      },
      "(name, meaning) of each cost.");
  m.def("present_costs", &present_costs, "simulation"_a, "Values in order of mix_costs().");
  m.def("mix_policy_json", &mix_policy_json, "simulation"_a, "result"_a);
  m.def("apply_mix_policy", &apply_mix_policy, "simulation"_a, "json"_a);
}

}  // namespace bitsweep::python
