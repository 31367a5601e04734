#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "bitsweep/qdq_export.h"
#include "bitsweep/verify.h"
#include "samples.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {
namespace {

SimulationOptions simulation_options(std::string rules, std::filesystem::path ort_library,
                                     std::vector<std::filesystem::path> custom_op_libraries) {
  SimulationOptions options;
  options.rules = std::move(rules);
  options.ort_library = std::move(ort_library);
  options.custom_op_libraries = std::move(custom_op_libraries);
  return options;
}

VerifyOptions verify_options(double max_steps, int num_threads, int num_latency_runs) {
  return {.max_steps = max_steps, .num_threads = num_threads, .num_latency_runs = num_latency_runs};
}

}  // namespace

void bind_verify(nb::module_& m) {
  nb::class_<LoadCheck>(m, "LoadCheck", "Whether ONNX Runtime opens a file with one level.")
      .def_ro("level", &LoadCheck::level)
      .def_ro("loads", &LoadCheck::loads)
      .def_ro("reason", &LoadCheck::reason);
  nb::class_<Agreement>(m, "Agreement", "Two runs of the same samples, compared at one output.")
      .def_ro("output", &Agreement::output)
      .def_ro("reference", &Agreement::reference)
      .def_ro("tested", &Agreement::tested)
      .def_ro("max_difference", &Agreement::max_difference)
      .def_ro("max_steps", &Agreement::max_steps)
      .def_ro("sqnr_db", &Agreement::sqnr_db)
      .def_ro("top1_agreement", &Agreement::top1_agreement);
  nb::class_<Disagreement>(m, "Disagreement",
                           "A tensor that the exported model computes in another way.")
      .def_ro("tensor", &Disagreement::tensor)
      .def_ro("max_difference", &Disagreement::max_difference)
      .def_ro("max_steps", &Disagreement::max_steps)
      .def_ro("share", &Disagreement::share)
      .def_ro("sample", &Disagreement::sample);
  nb::class_<VerifyResult>(m, "VerifyResult", "What a check of an exported model found.")
      .def_ro("problems", &VerifyResult::problems)
      .def_ro("notes", &VerifyResult::notes)
      .def_ro("loads", &VerifyResult::loads)
      .def_ro("agreements", &VerifyResult::agreements)
      .def_ro("first_disagreement", &VerifyResult::first_disagreement)
      .def_ro("num_samples", &VerifyResult::num_samples)
      .def_ro("float_ms", &VerifyResult::float_ms)
      .def_ro("qdq_ms", &VerifyResult::qdq_ms)
      .def_ro("passed", &VerifyResult::passed);

  m.def(
      "verify_simulation",
      [](Simulation& simulation, const std::filesystem::path& qdq_file, nb::object samples,
         double max_steps, int num_threads, int num_latency_runs) {
        PythonSamples source(std::move(samples));
        nb::gil_scoped_release release;
        return verify(simulation, qdq_file, source,
                      verify_options(max_steps, num_threads, num_latency_runs));
      },
      "simulation"_a, "qdq_file"_a, "samples"_a, nb::kw_only(), "max_steps"_a = 1.0,
      "num_threads"_a = 1, "num_latency_runs"_a = 10,
      "Checks an exported model file against the simulation that it came from.");

  m.def(
      "verify_files",
      [](const std::filesystem::path& float_file, const std::filesystem::path& qdq_file,
         nb::object samples, std::string rules, std::filesystem::path ort_library,
         std::vector<std::filesystem::path> custom_op_libraries, double max_steps, int num_threads,
         int num_latency_runs) {
        PythonSamples source(std::move(samples));
        const SimulationOptions options = simulation_options(
            std::move(rules), std::move(ort_library), std::move(custom_op_libraries));
        nb::gil_scoped_release release;
        return verify(float_file, qdq_file, source, options,
                      verify_options(max_steps, num_threads, num_latency_runs));
      },
      "float_file"_a, "qdq_file"_a, "samples"_a, nb::kw_only(), "rules"_a = "default",
      "ort_library"_a = std::filesystem::path(),
      "custom_op_libraries"_a = std::vector<std::filesystem::path>(), "max_steps"_a = 1.0,
      "num_threads"_a = 1, "num_latency_runs"_a = 10,
      "Checks an exported model file against its float model; the simulation is read back from "
      "it.");

  m.def(
      "from_onnx_qdq",
      [](const Model& model, std::string rules, std::filesystem::path ort_library,
         std::vector<std::filesystem::path> custom_op_libraries, int num_threads) {
        SimulationOptions options = simulation_options(std::move(rules), std::move(ort_library),
                                                       std::move(custom_op_libraries));
        options.num_threads = num_threads;
        nb::gil_scoped_release release;
        return from_onnx_qdq(model, std::move(options));
      },
      "model"_a, nb::kw_only(), "rules"_a = "default", "ort_library"_a = std::filesystem::path(),
      "custom_op_libraries"_a = std::vector<std::filesystem::path>(), "num_threads"_a = 0,
      "The simulation of a QDQ model.");
}

}  // namespace bitsweep::python
