#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "bitsweep/data.h"
#include "bitsweep/error.h"
#include "bitsweep/metric.h"
#include "bitsweep/sweep.h"
#include "convert.h"
#include "samples.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {
namespace {

MetricOptions metric_options(int k, std::vector<int> outputs, double max_db) {
  MetricOptions options;
  options.k = k;
  options.outputs = std::move(outputs);
  options.max_db = max_db;
  return options;
}

/// Calls a Python progress function a few times a second and looks for Ctrl-C.
///
/// An exception stops the sweep, which puts the switches back, and is raised again by check().
class Progress {
 public:
  explicit Progress(nb::object callback) : callback_(std::move(callback)) {}

  bool operator()(const SweepProgress& progress) {
    if (error_) {
      return true;
    }
    const auto now = std::chrono::steady_clock::now();
    const bool last = progress.total >= 0 && progress.done >= progress.total;
    if (!last && now - last_call_ < kInterval) {
      return false;
    }
    last_call_ = now;
    nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) {
        throw nb::python_error();
      }
      return !callback_.is_none() && nb::cast<bool>(nb::bool_(callback_(progress)));
    } catch (...) {
      error_ = std::current_exception();
      return true;
    }
  }

  void check() {
    if (error_) {
      std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{50};
  nb::object callback_;
  std::exception_ptr error_;
  std::chrono::steady_clock::time_point last_call_{};
};

SweepResult run_sweep(Simulation& simulation, nb::object samples,
                      const std::vector<SweepGroup>& groups, const std::string& metric, int k,
                      std::vector<int> outputs, double max_db, bool reuse, int num_threads,
                      std::int64_t max_memory_bytes, nb::object progress) {
  SweepOptions options;
  options.metric = metric;
  options.metric_options = metric_options(k, std::move(outputs), max_db);
  options.reuse = reuse;
  options.num_threads = num_threads;
  options.max_memory_bytes = max_memory_bytes;
  auto caller = std::make_shared<Progress>(std::move(progress));
  options.progress = [caller](const SweepProgress& p) { return (*caller)(p); };

  SampleSource* source = nullptr;
  std::unique_ptr<PythonSamples> own;
  if (!nb::try_cast(samples, source)) {
    own = std::make_unique<PythonSamples>(std::move(samples));
    source = own.get();
  }
  SweepResult result;
  {
    nb::gil_scoped_release release;
    result = sweep(simulation, *source, groups, options);
  }
  caller->check();
  return result;
}

nb::object next_sample(SampleSource& source) {
  Feed feed;
  bool more = false;
  {
    nb::gil_scoped_release release;
    more = source.next(&feed);
  }
  if (!more) {
    throw nb::stop_iteration();
  }
  nb::dict result;
  for (const auto& [name, tensor] : feed) {
    result[name.c_str()] = array_from_tensor(tensor);
  }
  return result;
}

std::vector<Tensor> tensors(nb::handle arrays) {
  std::vector<Tensor> result;
  for (nb::handle array : arrays) {
    result.push_back(tensor_from_array(array, "output " + std::to_string(result.size())));
  }
  return result;
}

void bind_metrics(nb::module_& m) {
  nb::enum_<Better>(m, "Better", "Which direction of a score is good.")
      .value("HIGHER", Better::kHigher)
      .value("LOWER", Better::kLower);

  nb::class_<MetricInfo>(m, "MetricInfo", "A row of the metric table.")
      .def_ro("name", &MetricInfo::name)
      .def_ro("unit", &MetricInfo::unit)
      .def_ro("summary", &MetricInfo::summary)
      .def_ro("better", &MetricInfo::better)
      .def("__repr__",
           [](const MetricInfo& i) { return i.name + " [" + i.unit + "]: " + i.summary; });

  nb::class_<MetricReference>(m, "MetricReference",
                              "Float outputs of one sample, prepared for a metric.");

  nb::class_<MetricAccumulator>(m, "MetricAccumulator",
                                "Streaming score: add pairs of outputs, then ask.")
      .def("fresh", &MetricAccumulator::fresh, "An empty accumulator with the same options.")
      .def(
          "prepare",
          [](const MetricAccumulator& a, nb::handle reference) {
            const std::vector<Tensor> r = tensors(reference);
            nb::gil_scoped_release release;
            return std::const_pointer_cast<MetricReference>(a.prepare(r));
          },
          "reference"_a, "What the metric needs of the float outputs of a sample.")
      .def(
          "add",
          [](MetricAccumulator& a, const MetricReference& reference, nb::handle simulated) {
            const std::vector<Tensor> s = tensors(simulated);
            nb::gil_scoped_release release;
            a.add(reference, s);
          },
          "reference"_a, "simulated"_a, "Adds the outputs of one sample, in file order.")
      .def("score", &MetricAccumulator::score);

  m.def("metrics", &metrics, "The built-in metrics.");
  m.def("find_metric", [](const std::string& name) { return find_metric(name); }, "name"_a);
  m.def(
      "make_metric",
      [](const std::string& name, int k, std::vector<int> outputs, double max_db) {
        return make_metric(name, metric_options(k, std::move(outputs), max_db));
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

void bind_samples(nb::module_& m) {
  nb::class_<SampleSource>(m, "SampleSource",
                           "Samples of a model, one dict of arrays after another.")
      .def("__next__", &next_sample)
      .def("__iter__",
           [](nb::object self) {
             nb::cast<SampleSource&>(self).rewind();
             return self;
           })
      .def("rewind", &SampleSource::rewind)
      .def_prop_ro("size", &SampleSource::size);

  nb::class_<DataSource, SampleSource>(m, "DataSource", "Samples from files.")
      .def("unused", &DataSource::unused, "Arrays that name no model input, such as labels.");

  m.def(
      "open_samples",
      [](const std::filesystem::path& path, const Model& model, std::int64_t max_samples,
         std::int64_t batch_size) {
        DataOptions options;
        options.max_samples = max_samples;
        options.batch_size = batch_size;
        nb::gil_scoped_release release;
        return open_samples(path, model, options);
      },
      "path"_a, "model"_a, nb::kw_only(), "max_samples"_a = -1, "batch_size"_a = 0);
}

}  // namespace

void bind_sweep(nb::module_& m) {
  bind_metrics(m);
  bind_samples(m);

  nb::class_<SweepGroup>(m, "SweepGroup", "A named set of quantizers that is switched on together.")
      .def(
          "__init__",
          [](SweepGroup* self, std::string name, std::vector<std::string> tensors) {
            new (self) SweepGroup{std::move(name), std::move(tensors)};
          },
          "name"_a, "tensors"_a)
      .def_ro("name", &SweepGroup::name)
      .def_ro("tensors", &SweepGroup::tensors);

  nb::class_<SweepProgress>(m, "SweepProgress", "How far a sweep is.")
      .def_ro("done", &SweepProgress::done)
      .def_ro("total", &SweepProgress::total)
      .def_ro("elapsed_s", &SweepProgress::elapsed_s)
      .def_ro("remaining_s", &SweepProgress::remaining_s)
      .def_ro("worst", &SweepProgress::worst)
      .def_ro("worst_score", &SweepProgress::worst_score);

  nb::class_<ScoreInterval>(m, "ScoreInterval", "Bootstrap over the samples, in the score's unit.")
      .def_ro("standard_error", &ScoreInterval::standard_error)
      .def_ro("low", &ScoreInterval::low, "Lower end of the 95% interval.")
      .def_ro("high", &ScoreInterval::high, "Upper end of the 95% interval.");

  nb::class_<SweepScore>(m, "SweepScore", "Score of one group.")
      .def_ro("name", &SweepScore::name)
      .def_ro("score", &SweepScore::score)
      .def_ro("rank", &SweepScore::rank)
      .def_ro("per_sample", &SweepScore::per_sample)
      .def_ro("interval", &SweepScore::interval, "None with fewer than two samples.")
      .def_ro("tied_with_next", &SweepScore::tied_with_next,
              "The samples leave open which of this and the next row is more sensitive.")
      .def("__repr__", [](const SweepScore& s) {
        return std::to_string(s.rank) + ". " + s.name + ": " + std::to_string(s.score);
      });

  nb::class_<SweepResult>(m, "SweepResult", "Scores of all groups, most sensitive first.")
      .def_ro("metric", &SweepResult::metric)
      .def_ro("unit", &SweepResult::unit)
      .def_ro("better", &SweepResult::better)
      .def_ro("scores", &SweepResult::scores)
      .def_ro("num_samples", &SweepResult::num_samples)
      .def_ro("complete", &SweepResult::complete)
      .def_ro("forward_equivalents", &SweepResult::forward_equivalents)
      .def_ro("num_runs", &SweepResult::num_runs)
      .def_ro("elapsed_s", &SweepResult::elapsed_s);

  m.def("group_by_quantizer", &group_by_quantizer, "simulation"_a);
  m.def("group_by_operator", &group_by_operator, "simulation"_a);
  m.def("operator_of_tensor", &operator_of_tensor, "simulation"_a,
        "Tensor to the operator that owns its quantizer.");
  m.def("sweep", &run_sweep, "simulation"_a, "samples"_a, "groups"_a, nb::kw_only(),
        "metric"_a = "sqnr", "k"_a = 10, "outputs"_a = std::vector<int>(), "max_db"_a = 100.0,
        "reuse"_a = true, "num_threads"_a = 0, "max_memory_bytes"_a = 0, "progress"_a = nb::none(),
        "Scores every group by enabling it alone; the switches are put back on every exit.");
}

}  // namespace bitsweep::python
