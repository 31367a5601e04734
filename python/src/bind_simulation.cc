#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "bitsweep/simulation.h"
#include "convert.h"
#include "samples.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {
namespace {

nb::list arrays(const std::vector<Tensor>& tensors, bool copy = false) {
  nb::list result;
  for (const Tensor& tensor : tensors) {
    result.append(copy ? array_copy_of_tensor(tensor) : array_from_tensor(tensor));
  }
  return result;
}

/// `copy`: for runs whose outputs the engine may keep; callers are free to write into what they
/// get.
nb::list run(Simulation& simulation, nb::handle feed, bool copy) {
  const Feed sample = feed_from_dict(feed);
  std::vector<Tensor> outputs;
  {
    nb::gil_scoped_release release;
    outputs = simulation.run(sample);
  }
  return arrays(outputs, copy);
}

std::int64_t calibrate(Simulation& simulation, nb::object samples) {
  SampleSource* source = nullptr;
  std::unique_ptr<PythonSamples> own;
  if (!nb::try_cast(samples, source)) {
    own = std::make_unique<PythonSamples>(std::move(samples));
    source = own.get();
  }
  const nb::gil_scoped_release release;
  return simulation.calibrate(*source, [](std::int64_t) {
    const nb::gil_scoped_acquire gil;
    // Ctrl-C; only seen from the caller's thread, which works too.
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return false;
  });
}

nb::list run_float(Simulation& simulation, nb::handle feed) {
  const Feed sample = feed_from_dict(feed);
  std::vector<Tensor> outputs;
  {
    nb::gil_scoped_release release;
    outputs = simulation.run_float(sample);
  }
  return arrays(outputs);
}

}  // namespace

void bind_simulation(nb::module_& m) {
  nb::class_<TensorReport>(m, "TensorReport", "A tensor and what the simulation does with it.")
      .def_ro("tensor", &TensorReport::tensor)
      .def_ro("status", &TensorReport::status)
      .def_ro("role", &TensorReport::role)
      .def_ro("format", &TensorReport::format)
      .def_ro("tied_to", &TensorReport::tied_to)
      .def_ro("reason", &TensorReport::reason)
      .def("__repr__", [](const TensorReport& r) {
        std::string text = r.tensor + ": " + r.status;
        for (const std::string& part :
             {r.role, r.format, r.tied_to.empty() ? "" : "tied to " + r.tied_to, r.reason}) {
          text += part.empty() ? "" : ", " + part;
        }
        return text;
      });

  nb::class_<OperatorInfo>(m, "OperatorInfo", "An operator with its tensors and parameters.")
      .def_ro("name", &OperatorInfo::name)
      .def_ro("type", &OperatorInfo::type)
      .def_ro("nodes", &OperatorInfo::nodes)
      .def_ro("inputs", &OperatorInfo::inputs)
      .def_ro("outputs", &OperatorInfo::outputs)
      .def_ro("parameters", &OperatorInfo::parameters)
      .def_ro("macs", &OperatorInfo::macs);

  nb::class_<Simulation>(m, "Simulation",
                         "A float model with quantizers that can be switched and calibrated.")
      .def(
          "__init__",
          [](Simulation* self, const Model& model, const Format& parameter_format,
             const Format& activation_format, const std::string& scheme, std::string rules,
             std::vector<std::string> providers, int num_threads, std::filesystem::path ort_library,
             std::vector<std::filesystem::path> custom_op_libraries, bool portable_runs) {
            SimulationOptions options;
            options.parameter_format = parameter_format;
            options.activation_format = activation_format;
            options.scheme = parse_scheme(scheme);
            options.rules = std::move(rules);
            options.providers = std::move(providers);
            options.num_threads = num_threads;
            options.portable_runs = portable_runs;
            options.ort_library = std::move(ort_library);
            options.custom_op_libraries = std::move(custom_op_libraries);
            nb::gil_scoped_release release;
            new (self) Simulation(model, std::move(options));
          },
          "model"_a, nb::kw_only(), "parameter_format"_a = Format(),
          "activation_format"_a = Format(), "scheme"_a = "min_max", "rules"_a = "default",
          "providers"_a = std::vector<std::string>{"CPUExecutionProvider"}, "num_threads"_a = 0,
          "ort_library"_a = std::filesystem::path(),
          "custom_op_libraries"_a = std::vector<std::filesystem::path>(), "portable_runs"_a = true)
      .def_prop_ro("model", [](const Simulation& s) { return s.model(); })
      .def_prop_ro("providers", [](const Simulation& s) { return s.options().providers; })
      .def("tensor_names", &Simulation::tensor_names)
      .def("parameter_names", &Simulation::parameter_names)
      .def("activation_names", &Simulation::activation_names)
      .def("input_quantizer_names", &Simulation::input_quantizer_names)
      .def("quantizer", &Simulation::quantizer, "tensor"_a)
      .def("set_quantizer", &Simulation::set_quantizer, "tensor"_a, "quantizer"_a)
      .def("operators", [](const Simulation& s) { return s.operators(); })
      .def("apply_exception_rules", &Simulation::apply_exception_rules)
      .def("effective_tensor", &Simulation::effective_tensor, "tensor"_a)
      .def("describe", &Simulation::describe)
      .def(
          "check_feed",
          [](const Simulation& s, nb::handle feed) { s.check_feed(feed_from_dict(feed)); },
          "feed"_a)
      .def("run", &run, "feed"_a, "copy"_a = false,
           "Outputs (file order) with the enabled quantizers.")
      .def("run_float", &run_float, "feed"_a, "Outputs (file order) of the float model.")
      .def("calibrate", &calibrate, "samples"_a,
           "Calibrates on samples, several side by side; returns their number.")
      .def("begin_calibration", &Simulation::begin_calibration,
           nb::call_guard<nb::gil_scoped_release>())
      .def("finish_calibration", &Simulation::finish_calibration,
           nb::call_guard<nb::gil_scoped_release>())
      .def("abort_calibration", &Simulation::abort_calibration,
           nb::call_guard<nb::gil_scoped_release>())
      .def("begin_reuse", &Simulation::begin_reuse, "states"_a, "max_memory_bytes"_a = 0,
           "From here on run() recognises samples by content and reuses their float pass.")
      .def("end_reuse", &Simulation::end_reuse, nb::call_guard<nb::gil_scoped_release>())
      .def("calibrating", &Simulation::calibrating)
      .def("non_finite_counts", &Simulation::non_finite_counts);
}

}  // namespace bitsweep::python
