#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind.h"
#include "bitsweep/data.h"
#include "bitsweep/error.h"
#include "bitsweep/layer_error.h"
#include "bitsweep/metric.h"
#include "bitsweep/score_journal.h"
#include "bitsweep/sweep.h"
#include "bitsweep/text.h"
#include "convert.h"
#include "display.h"
#include "progress.h"
#include "samples.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {
namespace {

SweepResult run_sweep(Simulation& simulation, nb::object samples,
                      const std::vector<SweepGroup>& groups, std::vector<MetricChoice> metrics,
                      nb::object labels, const std::string& mode,
                      std::optional<AdaptiveOptions> until_stable, bool interactions,
                      std::optional<std::filesystem::path> run_directory,
                      std::int64_t max_kept_bytes, bool reuse, int num_threads,
                      const std::string& thread_use, std::int64_t max_memory_bytes, bool caches,
                      nb::object progress) {
  if (metrics.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "sweep", "no metric is given", "give at least one");
  }
  SweepOptions options;
  options.metric = metrics.front().name;
  options.metric_options = metrics.front().options;
  options.more_metrics.assign(metrics.begin() + 1, metrics.end());
  options.mode = parse_sweep_mode(mode);
  options.until_stable = until_stable;
  options.interactions = interactions;
  if (run_directory) options.run_directory = *run_directory;
  options.max_kept_bytes = max_kept_bytes;
  options.reuse = reuse;
  options.num_threads = num_threads;
  options.thread_use = parse_thread_use(thread_use);
  options.max_memory_bytes = max_memory_bytes;
  options.caches = caches;
  auto caller = std::make_shared<ProgressCaller<SweepProgress>>(std::move(progress));
  options.progress = [caller](const SweepProgress& p) { return (*caller)(p); };

  SampleSource* source = nullptr;
  std::unique_ptr<PythonSamples> own;
  if (!labels.is_none() || !nb::try_cast(samples, source)) {
    own = std::make_unique<PythonSamples>(std::move(samples), std::move(labels));
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

const Interactions& interactions_of(const SweepResult& result) {
  if (!result.interactions) {
    throw Error(ErrorCode::kNotReady, "predict", "the sweep did not look for interactions",
                "run it with interactions=True");
  }
  return *result.interactions;
}

// By groups, so that tied ones have equal rows.
nb::object gram_matrix(const Interactions& interactions, std::size_t output) {
  if (output >= interactions.outputs.size()) {
    throw Error(ErrorCode::kInvalidArgument, "gram",
                "there is no compared output " + std::to_string(output),
                "count them from 0; there are " + std::to_string(interactions.outputs.size()));
  }
  const auto n = static_cast<std::int64_t>(interactions.groups.size());
  Tensor matrix = Tensor::allocate(DataType::kDouble, {n, n});
  auto* out = static_cast<double*>(matrix.mutable_data());
  const std::vector<double>& gram = interactions.outputs[output].gram;
  for (const std::size_t a : interactions.rows) {
    for (const std::size_t b : interactions.rows) *out++ = gram[a * interactions.num_rows + b];
  }
  return array_from_tensor(matrix);
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

void bind_result(nb::module_& m) {
  nb::class_<ScoreInterval> interval(m, "ScoreInterval",
                                     "Bootstrap over the samples, in the score's unit.");
  show_line_by_python(interval, "interval");
  interval.def_ro("standard_error", &ScoreInterval::standard_error)
      .def_ro("low", &ScoreInterval::low, "Lower end of the 95% interval.")
      .def_ro("high", &ScoreInterval::high, "Upper end of the 95% interval.");

  nb::class_<SweepScore>(m, "SweepScore", "Score of one group.")
      .def_ro("name", &SweepScore::name)
      .def_ro("score", &SweepScore::score)
      .def_ro("rank", &SweepScore::rank)
      .def_ro("per_sample", &SweepScore::per_sample)
      .def_ro("per_output", &SweepScore::per_output, "In the order of the compared outputs.")
      .def_ro("interval", &SweepScore::interval, "None with fewer than two samples.")
      .def_ro("tied_with_next", &SweepScore::tied_with_next,
              "The samples leave open which of this and the next row is more sensitive.")
      .def("__repr__", [](const SweepScore& s) {
        return std::to_string(s.rank) + ". " + s.name + ": " + std::to_string(s.score);
      });

  nb::class_<MetricScores>(m, "MetricScores", "Scores of all groups by one metric.")
      .def_ro("metric", &MetricScores::metric)
      .def_ro("unit", &MetricScores::unit)
      .def_ro("better", &MetricScores::better)
      .def_ro("scores", &MetricScores::scores, "Most sensitive first.")
      .def_ro("float_score", &MetricScores::float_score,
              "Of the float model, for metrics that compare with labels.");

  nb::class_<InteractingPair>(m, "InteractingPair", "Two groups whose errors do not just add up.")
      .def_ro("first", &InteractingPair::first)
      .def_ro("second", &InteractingPair::second)
      .def_ro("interaction", &InteractingPair::interaction,
              "In [-1, 1]: below 0 the errors cancel, above 0 the two are worse together.")
      .def_ro("energy", &InteractingPair::energy, "What the pair adds to the squared error.")
      .def("__repr__", [](const InteractingPair& p) {
        return p.first + " and " + p.second + ": " + std::to_string(p.interaction);
      });

  nb::class_<Interactions>(m, "Interactions", "How the errors of groups add up.")
      .def_ro("groups", &Interactions::groups)
      .def("gram", &gram_matrix, "output"_a = 0,
           "Inner products of the groups' changes to a compared output, (groups, groups) float64.")
      .def(
          "predict",
          [](const Interactions& i, const std::vector<std::string>& configuration,
             const std::string& metric) { return i.predict(configuration, metric); },
          "configuration"_a, "metric"_a = "sqnr",
          "Predicted score with just these groups quantized, by sqnr, psnr or mse.")
      .def(
          "predict_additive",
          [](const Interactions& i, const std::vector<std::string>& configuration,
             const std::string& metric) { return i.predict_additive(configuration, metric); },
          "configuration"_a, "metric"_a = "sqnr",
          "The same as if the groups' errors were independent.")
      .def("strongest_pairs", &Interactions::strongest_pairs, "count"_a = 20, "output"_a = 0);

  nb::class_<Stability> stability(m, "Stability", "How an adaptive sweep ended.");
  show_line_by_python(stability, "stability");
  stability
      .def_ro("selected", &Stability::selected,
              "The most sensitive groups, or those beyond the threshold.")
      .def_ro("confidence", &Stability::confidence, "Of the least certain place.")
      .def_ro("settled", &Stability::settled)
      .def_ro("num_evaluations", &Stability::num_evaluations)
      .def_ro("num_without_stopping", &Stability::num_without_stopping);

  nb::class_<SweepResult, MetricScores> outcome(m, "SweepResult",
                                                "Scores of all groups, most sensitive first.");
  show_by_python(outcome, "sweep");
  outcome.def_ro("groups", &SweepResult::groups, "As given.")
      .def_ro("more", &SweepResult::more, "Scores by the further metrics.")
      .def_prop_ro("mode",
                   [](const SweepResult& r) { return std::string(sweep_mode_name(r.mode)); })
      .def_ro("num_samples", &SweepResult::num_samples)
      .def_ro("complete", &SweepResult::complete)
      .def_ro("stability", &SweepResult::stability)
      .def_ro("interactions", &SweepResult::interactions)
      .def(
          "predict",
          [](const SweepResult& r, const std::vector<std::string>& configuration) {
            return interactions_of(r).predict(configuration, r.metric);
          },
          "configuration"_a,
          "Predicted score with just these groups quantized; needs interactions and a metric of "
          "squared errors.")
      .def_ro("forward_equivalents", &SweepResult::forward_equivalents,
              "Cost of all runs of one sample in units of one float pass.")
      .def_ro("num_runs", &SweepResult::num_runs)
      .def_ro("num_evaluations", &SweepResult::num_evaluations,
              "(group, sample) pairs that needed a run.")
      .def_ro("num_kept", &SweepResult::num_kept, "Pairs answered from the run directory.")
      .def_ro("elapsed_s", &SweepResult::elapsed_s)
      .def_ro("notes", &SweepResult::notes, "What the user should know, a sentence each.");

  nb::class_<AdaptiveOptions>(m, "AdaptiveOptions", "When an adaptive sweep stops.")
      .def(
          "__init__",
          [](AdaptiveOptions* self, double top_fraction, std::optional<double> threshold,
             double confidence, std::int64_t first_samples, double work) {
            new (self) AdaptiveOptions{.top_fraction = top_fraction,
                                       .threshold = threshold,
                                       .confidence = confidence,
                                       .first_samples = first_samples,
                                       .work = work};
          },
          nb::kw_only(), "top_fraction"_a = AdaptiveOptions{}.top_fraction,
          "threshold"_a = nb::none(), "confidence"_a = AdaptiveOptions{}.confidence,
          "first_samples"_a = AdaptiveOptions{}.first_samples, "work"_a = AdaptiveOptions{}.work);
}

// (layer, mean squared error) in topological order.
std::vector<std::pair<std::string, double>> run_layer_errors(Simulation& simulation,
                                                             nb::object samples,
                                                             std::int64_t max_samples) {
  PythonSamples source(std::move(samples));
  std::vector<LayerError> layers;
  {
    const nb::gil_scoped_release release;
    layers = layer_errors(simulation, source, max_samples, [](std::int64_t) {
      const nb::gil_scoped_acquire gil;
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      return false;
    });
  }
  std::vector<std::pair<std::string, double>> rows;
  for (LayerError& layer : layers) rows.emplace_back(std::move(layer.layer), layer.mse);
  return rows;
}

void bind_score_journal(nb::module_& m) {
  nb::class_<ScoreJournal>(m, "ScoreJournal",
                           "Scores of a function of the user's own, kept in a run directory.")
      .def(nb::init<const Simulation&, const std::filesystem::path&, const std::string&, bool>(),
           "simulation"_a, "folder"_a, "identity"_a, "reuse"_a, nb::keep_alive<1, 2>())
      .def("find", &ScoreJournal::find, "enabled"_a,
           "Score with just the quantizers of these tensors enabled; None when not known.")
      .def("put", &ScoreJournal::put, "enabled"_a, "score"_a)
      .def("close", &ScoreJournal::close, "Lets other processes have the folder.")
      .def("notes", &ScoreJournal::notes, "What the user should know, a sentence each.");
}

}  // namespace

void bind_sweep(nb::module_& m) {
  bind_samples(m);
  bind_score_journal(m);

  nb::class_<SweepGroup>(m, "SweepGroup", "A named set of quantizers that is switched on together.")
      .def(
          "__init__",
          [](SweepGroup* self, std::string name, std::vector<std::string> tensors) {
            new (self) SweepGroup{std::move(name), std::move(tensors)};
          },
          "name"_a, "tensors"_a)
      .def_ro("name", &SweepGroup::name)
      .def_ro("tensors", &SweepGroup::tensors)
      .def("__repr__", [](const SweepGroup& g) {
        return g.name + ": " + plural(static_cast<std::int64_t>(g.tensors.size()), "tensor");
      });

  nb::class_<SweepProgress>(m, "SweepProgress", "How far a sweep is.")
      .def_ro("done", &SweepProgress::done)
      .def_ro("total", &SweepProgress::total)
      .def_ro("elapsed_s", &SweepProgress::elapsed_s)
      .def_ro("remaining_s", &SweepProgress::remaining_s)
      .def_ro("worst", &SweepProgress::worst)
      .def_ro("worst_score", &SweepProgress::worst_score);

  bind_result(m);

  m.def(
      "group_by_quantizer",
      [](const Simulation& simulation, bool parameters, bool activations,
         std::vector<std::string> patterns) {
        return group_by_quantizer(simulation, {.parameters = parameters,
                                               .activations = activations,
                                               .patterns = std::move(patterns)});
      },
      "simulation"_a, nb::kw_only(), "parameters"_a = true, "activations"_a = true,
      "patterns"_a = std::vector<std::string>());
  m.def(
      "group_by_operator",
      [](const Simulation& simulation, bool parameters, bool activations,
         std::vector<std::string> patterns) {
        return group_by_operator(simulation, {.parameters = parameters,
                                              .activations = activations,
                                              .patterns = std::move(patterns)});
      },
      "simulation"_a, nb::kw_only(), "parameters"_a = true, "activations"_a = true,
      "patterns"_a = std::vector<std::string>());
  m.def("group_by_layer", &group_by_layer, "simulation"_a,
        "One group per operator: its outputs, parameters, and inputs that no operator makes.");
  m.def("operator_of_tensor", &operator_of_tensor, "simulation"_a,
        "Tensor to the operator that owns its quantizer.");
  m.def("layer_errors", &run_layer_errors, "simulation"_a, "samples"_a, "max_samples"_a = -1,
        "(operator, mean squared error of its first output), in topological order.");
  m.def("sweep", &run_sweep, "simulation"_a, "samples"_a, "groups"_a, "metrics"_a, nb::kw_only(),
        "labels"_a = nb::none(), "mode"_a = "enable_one", "until_stable"_a = nb::none(),
        "interactions"_a = false, "run_directory"_a = nb::none(),
        "max_kept_bytes"_a = SweepOptions{}.max_kept_bytes, "reuse"_a = true, "num_threads"_a = 0,
        "thread_use"_a = "states", "max_memory_bytes"_a = 0, "caches"_a = true,
        "progress"_a = nb::none(),
        "Scores every group; the switches are put back on every exit. The first metric ranks.");
}

}  // namespace bitsweep::python
