#include "bitsweep/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/qdq_export.h"
#include "export/agreement.h"
#include "graph/onnx_checks.h"
#include "simulate/engine.h"
#include "simulate/file_session.h"
#include "simulate/session.h"

namespace bitsweep {
namespace {

using exporting::AgreementSums;
using graph::TensorId;
using simulate::FileSession;
using simulate::OptimizationLevel;

constexpr std::array<std::pair<OptimizationLevel, const char*>, 4> kLevels = {
    {{OptimizationLevel::kDisabled, "disabled"},
     {OptimizationLevel::kBasic, "basic"},
     {OptimizationLevel::kExtended, "extended"},
     {OptimizationLevel::kAll, "all"}}};

// Rounding of the difference itself.
constexpr double kSlackOfSteps = 0.01;

using Runner = std::function<std::vector<Tensor>(const Feed&)>;

double median_ms(const Runner& run, const Feed& feed, int num_runs) {
  std::vector<double> times;
  run(feed);  // the first run allocates
  for (int i = 0; i < num_runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run(feed);
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::nth_element(times.begin(), times.begin() + num_runs / 2, times.end());
  return times[static_cast<std::size_t>(num_runs / 2)];
}

class Verifier {
 public:
  Verifier(Simulation& simulation, std::filesystem::path qdq_file, Runner run_float,
           const VerifyOptions& options)
      : simulation_(simulation),
        qdq_file_(std::move(qdq_file)),
        run_float_(std::move(run_float)),
        options_(options),
        qdq_(Model::load(qdq_file_)) {}

  VerifyResult run(SampleSource& samples) {
    result_.problems = graph::onnx_problems(qdq_);
    check_faces();
    for (const auto& [level, name] : kLevels) load(level, name);
    const bool runs = plain_ != nullptr && optimized_ != nullptr;
    if (runs) compare(samples);
    bool agrees = runs && largest_steps() <= options_.max_steps + kSlackOfSteps;
    if (runs && !agrees) {
      check_tensors();
      agrees = !result_.first_disagreement && result_.first_half_step && below_quantization_noise();
    }
    result_.passed = agrees && result_.problems.empty() &&
                     std::all_of(result_.loads.begin(), result_.loads.end(),
                                 [](const LoadCheck& check) { return check.loads; });
    return std::move(result_);
  }

 private:
  void check_faces() {
    const auto names = [](const std::vector<ValueInfo>& values) {
      std::vector<std::string> result;
      for (const ValueInfo& value : values) result.push_back(value.name);
      return result;
    };
    if (names(qdq_.inputs()) != names(simulation_.model().inputs()))
      result_.problems.emplace_back("the names of the inputs are not those of the float model");
    if (names(qdq_.outputs()) != names(simulation_.model().outputs()))
      result_.problems.emplace_back("the names of the outputs are not those of the float model");
  }

  void load(OptimizationLevel level, const char* name) {
    LoadCheck check{.level = name, .loads = false, .reason = {}};
    try {
      auto session = std::make_unique<FileSession>(
          qdq_file_, simulate::FileSessionOptions{
                         .level = level,
                         .num_threads = options_.num_threads,
                         .ort_library = simulation_.options().ort_library,
                         .custom_op_libraries = simulation_.options().custom_op_libraries});
      check.loads = true;
      if (level == OptimizationLevel::kDisabled) plain_ = std::move(session);
      if (level == OptimizationLevel::kAll) optimized_ = std::move(session);
    } catch (const Error& refusal) {
      if (refusal.code() != ErrorCode::kRuntime) throw;
      check.reason = refusal.what();
    }
    result_.loads.push_back(std::move(check));
  }

  // One step of the grid that decides a tensor's values; 0 when there is none.
  double step_of(const std::string& tensor) const {
    const std::string owner = simulation_.effective_tensor(tensor);
    if (owner.empty()) return 0.0;
    const auto& encoding = simulation_.quantizer(owner)->encoding();
    if (!encoding || !encoding->format.is_integer() || encoding->cells.size() != 1) return 0.0;
    return encoding->cells.front().delta;
  }

  void compare(SampleSource& samples) {
    static constexpr std::array<std::pair<const char*, const char*>, 4> kPairs = {
        {{"simulation", "qdq"},
         {"simulation", "qdq optimized"},
         {"float", "simulation"},
         {"float", "qdq optimized"}}};
    const std::vector<ValueInfo> outputs = simulation_.model().outputs();
    std::vector<std::vector<AgreementSums>> sums(kPairs.size(),
                                                 std::vector<AgreementSums>(outputs.size()));
    Feed feed;
    samples.rewind();
    while (samples.next(&feed)) {
      simulation_.check_feed(feed);
      if (result_.num_samples == 0) first_ = feed;
      const std::vector<Tensor> reference = run_float_(feed);
      const std::vector<Tensor> simulated = simulation_.run(feed);
      const std::vector<Tensor> plain = plain_->run(feed);
      const std::vector<Tensor> optimized = optimized_->run(feed);
      const std::vector<Tensor>* by_pair[][2] = {{&simulated, &plain},
                                                 {&simulated, &optimized},
                                                 {&reference, &simulated},
                                                 {&reference, &optimized}};
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const double step = step_of(outputs[o].name);
        for (std::size_t p = 0; p < kPairs.size(); ++p)
          sums[p][o].add((*by_pair[p][0])[o], (*by_pair[p][1])[o], step);
        AgreementSums here;
        here.add(simulated[o], plain[o], step);
        if (here.max_steps() > worst_steps_) {
          worst_steps_ = here.max_steps();
          worst_ = feed;
          worst_sample_ = result_.num_samples;
        }
      }
      ++result_.num_samples;
    }
    if (result_.num_samples == 0) {
      throw Error(ErrorCode::kInvalidData, "verify", "there is no sample to compare with",
                  "give at least one");
    }
    for (std::size_t p = 0; p < kPairs.size(); ++p) {
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        result_.agreements.push_back({.output = outputs[o].name,
                                      .reference = kPairs[p].first,
                                      .tested = kPairs[p].second,
                                      .max_difference = sums[p][o].max_difference(),
                                      .max_steps = sums[p][o].max_steps(),
                                      .sqnr_db = sums[p][o].sqnr_db(),
                                      .top1_agreement = sums[p][o].top1_agreement()});
      }
    }
    if (options_.num_latency_runs > 0) {
      result_.float_ms = median_ms(run_float_, first_, options_.num_latency_runs);
      result_.qdq_ms = median_ms([&](const Feed& f) { return optimized_->run(f); }, first_,
                                 options_.num_latency_runs);
    }
  }

  double largest_steps() const {
    double largest = 0.0;
    for (const Agreement& row : result_.agreements) {
      if (row.reference == "simulation" && row.tested == "qdq")
        largest = std::max(largest, row.max_steps);
    }
    return largest;
  }

  bool below_quantization_noise() const {
    for (const Agreement& row : result_.agreements) {
      if (row.reference != "simulation" || row.tested != "qdq") continue;
      for (const Agreement& other : result_.agreements) {
        if (other.output == row.output && other.reference == "float" &&
            other.tested == "simulation" && !(row.sqnr_db > other.sqnr_db))
          return false;
      }
    }
    return true;
  }

  /// A QuantizeLinear and DequantizeLinear pair, or stored codes (no source), with its quantizer.
  struct Pair {
    std::string name;
    TensorId source = graph::kAbsent;
    TensorId output = graph::kAbsent;
    std::shared_ptr<const Quantizer> quantizer;
    Tensor stored;  // value of the simulation's constant
  };

  std::vector<Pair> pairs(const graph::Graph& exported) const {
    const graph::Graph& graph = simulation_.engine().graph();
    std::vector<Pair> result;
    for (const graph::Node& node : exported.nodes()) {
      if (node.op_type != "DequantizeLinear" || node.is_dead) continue;
      Pair pair;
      pair.output = node.outputs[0];
      const int producer = exported.tensor(node.inputs[0]).producer;
      if (producer >= 0 && exported.node(producer).op_type == "QuantizeLinear")
        pair.source = exported.node(producer).inputs[0];
      pair.name = exported.tensor(pair.output).name;
      if (graph.find(pair.name) == graph::kAbsent && pair.source != graph::kAbsent)
        pair.name = exported.tensor(pair.source).name;  // a graph input
      const TensorId id = graph.find(pair.name);
      if (id == graph::kAbsent) continue;  // scales of LPBQ
      const std::string owner = simulation_.effective_tensor(pair.name);
      if (owner.empty()) continue;  // int32 biases
      pair.quantizer = simulation_.quantizer(owner);
      pair.stored = graph.static_value(id);
      if (pair.source == graph::kAbsent && !pair.stored.defined()) continue;
      result.push_back(std::move(pair));
    }
    return result;
  }

  // Each pair by itself: what the quantizer makes of the value in front of it. Differences behind
  // other differences say nothing, those of one pair everything.
  void check_tensors() {
    const graph::Graph exported(qdq_);
    const std::vector<Pair> all = pairs(exported);
    constexpr std::size_t kPairsAtOnce = 64;  // bounds the memory for activations
    for (std::size_t first = 0; first < all.size(); first += kPairsAtOnce) {
      const std::vector<Pair> some(
          all.begin() + static_cast<std::ptrdiff_t>(first),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), first + kPairsAtOnce)));
      const std::map<TensorId, Tensor> values = exported_values(exported, some);
      for (const Pair& pair : some) {
        check_pair(pair, values);
        if (result_.first_disagreement) return;
      }
    }
  }

  std::map<TensorId, Tensor> exported_values(const graph::Graph& exported,
                                             const std::vector<Pair>& some) const {
    graph::SubgraphSpec spec;
    for (int n = 0; n < static_cast<int>(exported.nodes().size()); ++n) {
      if (!exported.node(n).is_constant || exported.node(n).op_type != "Constant")
        spec.nodes.push_back(n);
    }
    spec.inputs = exported.inputs();
    std::map<TensorId, Tensor> values;
    std::vector<Tensor> inputs;
    for (const TensorId t : spec.inputs) {
      values[t] = worst_.at(exported.tensor(t).name);
      inputs.push_back(values[t]);
    }
    std::set<TensorId> wanted;
    for (const Pair& pair : some) {
      wanted.insert(pair.output);
      if (pair.source != graph::kAbsent && exported.tensor(pair.source).producer >= 0 &&
          !pair.stored.defined())
        wanted.insert(pair.source);
    }
    spec.outputs.assign(wanted.begin(), wanted.end());
    const simulate::Session session(
        graph::build_subgraph(exported, spec),
        {.num_threads = 1,
         .optimization = simulate::Optimization::kNone,
         .ort_library = simulation_.options().ort_library,
         .custom_op_libraries = simulation_.options().custom_op_libraries});
    const std::vector<Tensor> results = session.run(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) values[spec.outputs[i]] = results[i];
    return values;
  }

  void check_pair(const Pair& pair, const std::map<TensorId, Tensor>& values) {
    const Tensor& source = pair.stored.defined() ? pair.stored : values.at(pair.source);
    const Tensor wanted = pair.quantizer->fake_quant(source).to_float();
    const Tensor got = values.at(pair.output).to_float();
    if (wanted.size() != got.size()) return;
    double step = 0.0;  // the largest one, where there are several
    for (const AffineEncoding& cell : pair.quantizer->encoding()->cells)
      step = std::max(step, cell.delta);
    Disagreement found{.tensor = pair.name, .sample = worst_sample_};
    std::int64_t differ = 0;
    for (std::size_t i = 0; i < got.floats().size(); ++i) {
      const double d =
          std::abs(static_cast<double>(wanted.floats()[i]) - static_cast<double>(got.floats()[i]));
      found.max_difference = std::max(found.max_difference, d);
      // Less is the rounding of the product of scale and code.
      if (d > kSlackOfSteps * step) ++differ;
    }
    if (differ == 0) return;
    found.max_steps = found.max_difference / step;
    found.share = static_cast<double>(differ) / static_cast<double>(got.size());
    if (found.max_steps > options_.max_steps + kSlackOfSteps) {
      result_.first_disagreement = found;
    } else if (!result_.first_half_step) {
      result_.first_half_step = found;
    }
  }

  Simulation& simulation_;
  std::filesystem::path qdq_file_;
  Runner run_float_;
  VerifyOptions options_;
  Model qdq_;
  std::unique_ptr<FileSession> plain_;
  std::unique_ptr<FileSession> optimized_;
  Feed first_;
  Feed worst_;
  double worst_steps_ = -1.0;
  std::int64_t worst_sample_ = 0;
  VerifyResult result_;
};

}  // namespace

VerifyResult verify(Simulation& simulation, const std::filesystem::path& qdq_file,
                    SampleSource& samples, const VerifyOptions& options) {
  return Verifier(
             simulation, qdq_file, [&](const Feed& feed) { return simulation.run_float(feed); },
             options)
      .run(samples);
}

VerifyResult verify(const std::filesystem::path& float_file, const std::filesystem::path& qdq_file,
                    SampleSource& samples, const SimulationOptions& simulation_options,
                    const VerifyOptions& options) {
  Simulation simulation = from_onnx_qdq(Model::load(qdq_file), simulation_options);
  const FileSession session(float_file,
                            {.level = OptimizationLevel::kAll,
                             .num_threads = options.num_threads,
                             .ort_library = simulation_options.ort_library,
                             .custom_op_libraries = simulation_options.custom_op_libraries});
  return Verifier(
             simulation, qdq_file, [&](const Feed& feed) { return session.run(feed); }, options)
      .run(samples);
}

}  // namespace bitsweep
