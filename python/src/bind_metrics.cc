#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "bitsweep/metric.h"
#include "bitsweep/sweep.h"
#include "convert.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {
namespace {

std::vector<Tensor> tensors(nb::handle arrays) {
  std::vector<Tensor> result;
  for (nb::handle array : arrays) {
    result.push_back(tensor_from_array(array, "output " + std::to_string(result.size())));
  }
  return result;
}

}  // namespace

void bind_metrics(nb::module_& m) {
  nb::enum_<Better>(m, "Better", "Which direction of a score is good.")
      .value("HIGHER", Better::kHigher)
      .value("LOWER", Better::kLower);

  nb::class_<MetricInfo>(m, "MetricInfo", "A row of the metric table.")
      .def_ro("name", &MetricInfo::name)
      .def_ro("unit", &MetricInfo::unit)
      .def_ro("summary", &MetricInfo::summary)
      .def_ro("better", &MetricInfo::better)
      .def_ro("needs_labels", &MetricInfo::needs_labels)
      .def("__repr__",
           [](const MetricInfo& i) { return i.name + " [" + i.unit + "]: " + i.summary; });

  nb::class_<MetricChoice>(m, "MetricChoice", "A metric by name, with its options.")
      .def(
          "__init__",
          [](MetricChoice* self, std::string name, int k, std::vector<int> outputs, double max_db,
             bool mean) {
            new (self) MetricChoice{std::move(name), {}};
            self->options.k = k;
            self->options.outputs = std::move(outputs);
            self->options.max_db = max_db;
            self->options.reduction = mean ? OutputReduction::kMean : OutputReduction::kWorst;
          },
          "name"_a, nb::kw_only(), "k"_a = 10, "outputs"_a = std::vector<int>(), "max_db"_a = 100.0,
          "mean"_a = false)
      .def_ro("name", &MetricChoice::name);

  nb::class_<MetricReference>(m, "MetricReference",
                              "Float outputs of one sample, prepared for a metric.");

  nb::class_<MetricAccumulator>(m, "MetricAccumulator",
                                "Streaming score: add pairs of outputs, then ask.")
      .def("fresh", &MetricAccumulator::fresh, "An empty accumulator with the same options.")
      .def(
          "prepare",
          [](const MetricAccumulator& a, nb::handle reference, nb::handle labels) {
            const std::vector<Tensor> r = tensors(reference);
            const Tensor l = labels.is_none() ? Tensor() : tensor_from_array(labels, "labels");
            nb::gil_scoped_release release;
            return std::const_pointer_cast<MetricReference>(a.prepare(r, l));
          },
          "reference"_a, "labels"_a = nb::none(),
          "What the metric needs of the float outputs of a sample, and of its labels.")
      .def(
          "add",
          [](MetricAccumulator& a, const MetricReference& reference, nb::handle simulated) {
            const std::vector<Tensor> s = tensors(simulated);
            nb::gil_scoped_release release;
            a.add(reference, s);
          },
          "reference"_a, "simulated"_a, "Adds the outputs of one sample, in file order.")
      .def("score", &MetricAccumulator::score)
      .def("output_scores", &MetricAccumulator::output_scores,
           "The score of each compared output apart.");

  m.def("metrics", &metrics, "The built-in metrics.");
  m.def("find_metric", [](const std::string& name) { return find_metric(name); }, "name"_a);
  m.def(
      "make_metric",
      [](const std::string& name, int k, std::vector<int> outputs, double max_db) {
        MetricOptions options;
        options.k = k;
        options.outputs = std::move(outputs);
        options.max_db = max_db;
        return make_metric(name, options);
      },
      "name"_a, nb::kw_only(), "k"_a = 10, "outputs"_a = std::vector<int>(), "max_db"_a = 100.0);
  m.def(
      "psnr_db",
      [](nb::handle expected, nb::handle actual, double max_db) {
        const Tensor e = tensor_from_array(expected, "expected");
        const Tensor a = tensor_from_array(actual, "actual");
        nb::gil_scoped_release release;
        return psnr_db(e.floats(), a.floats(), max_db);
      },
      "expected"_a, "actual"_a, "max_db"_a = 100.0);
}

}  // namespace bitsweep::python
