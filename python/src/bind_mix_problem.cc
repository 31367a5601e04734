#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "bind.h"
#include "bitsweep/mix.h"
#include "samples.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {
namespace {

MixProblem problem_of(Simulation& simulation, nb::object calibration, nb::object search,
                      std::vector<Candidate> candidates, int num_threads) {
  PythonSamples calibration_source(std::move(calibration));
  PythonSamples search_source(std::move(search));
  MixOptions options;
  options.candidates = std::move(candidates);
  options.num_threads = num_threads;
  const nb::gil_scoped_release release;
  return mix_problem(simulation, calibration_source, search_source, options);
}

std::vector<double> losses_of(const MixProblem& mix, const std::vector<std::vector<int>>& mixes,
                              bool additive) {
  BudgetProblem problem = mix.problem;
  if (additive) problem.interactions.clear();
  std::vector<double> losses;
  for (const std::vector<int>& choices : mixes) losses.push_back(loss_of(problem, choices));
  return losses;
}

std::vector<std::vector<double>> costs_of(const MixProblem& mix,
                                          const std::vector<std::vector<int>>& mixes) {
  std::vector<std::vector<double>> costs(mixes.size());
  for (std::size_t i = 0; i < mixes.size(); ++i) {
    for (const CostTable& cost : mix.problem.costs) costs[i].push_back(cost_of(cost, mixes[i]));
  }
  return costs;
}

MixProblem corrected(const MixProblem& mix, const std::vector<std::vector<int>>& mixes,
                     const std::vector<double>& db,
                     const std::vector<std::vector<double>>& without_db) {
  std::vector<MeasuredMix> measured;
  for (std::size_t i = 0; i < mixes.size(); ++i)
    measured.push_back({mixes[i], db.at(i), without_db.at(i)});
  MixProblem result = mix;
  result.problem = corrected_problem(mix.problem, measured);
  return result;
}

}  // namespace

void bind_mix_problem(nb::module_& m) {
  nb::class_<MixProblem>(m, "MixProblem", "What a mix predicts the error of configurations with.")
      .def_ro("groups", &MixProblem::groups)
      .def_ro("choices", &MixProblem::choices, "Candidates by group.")
      .def("losses", &losses_of, "mixes"_a, "additive"_a = false,
           "Error over signal of configurations, each a list of choices by group.")
      .def("costs", &costs_of, "mixes"_a, "Of each configuration, in order of mix_costs().")
      .def("corrected", &corrected, "mixes"_a, "db"_a, "without_db"_a,
           "Moved so that it predicts measured configurations.");
  m.def("mix_problem", &problem_of, "simulation"_a, "calibration"_a, "search"_a, "candidates"_a,
        "num_threads"_a = 0, "What bitsweep.mix starts from.");
}

}  // namespace bitsweep::python
