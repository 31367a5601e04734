#include "bitsweep/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/qdq_export.h"
#include "export/agreement.h"
#include "export/plain_agreement.h"
#include "export/verify_runs.h"
#include "graph/bodies/inlined_functions.h"
#include "graph/file/onnx_checks.h"
#include "simulate/engine.h"
#include "simulate/first_nan.h"
#include "simulate/network/network.h"

namespace bitsweep {
namespace {

using exporting::AgreementSums;
using exporting::kFileRun;
using exporting::kFloatRun;
using exporting::kNumRuns;
using exporting::kOptimizedRun;
using exporting::kPlainRun;
using exporting::kUsualRun;
using exporting::Run;
using graph::TensorId;
using simulate::OptimizationLevel;

constexpr std::array<std::pair<OptimizationLevel, const char*>, 4> kLevels = {
    {{OptimizationLevel::kDisabled, "disabled"},
     {OptimizationLevel::kBasic, "basic"},
     {OptimizationLevel::kExtended, "extended"},
     {OptimizationLevel::kAll, "all"}}};

// Rounding of the difference itself.
constexpr double kSlackOfSteps = 0.01;
// 255ths of the range of a float output: rounding stays far below.
constexpr double kConversionSteps = 0.1;

// The simulation computed operator by operator, as the exported model without optimizations is.
constexpr const char* kPlain = "plain simulation";
constexpr const char* kUsual = "simulation";
constexpr const char* kFile = "qdq";
constexpr const char* kOptimized = "qdq optimized";

struct Pair {
  const char* reference;
  const char* tested;
  Run reference_run;
  Run tested_run;
};

constexpr std::array<Pair, 5> kPairs = {{{kPlain, kFile, kPlainRun, kFileRun},
                                         {kUsual, kFile, kUsualRun, kFileRun},
                                         {kUsual, kOptimized, kUsualRun, kOptimizedRun},
                                         {"float", kUsual, kFloatRun, kUsualRun},
                                         {"float", kOptimized, kFloatRun, kOptimizedRun}}};

bool has_nan(const Tensor& tensor) {
  if (!is_quantizable_type(tensor.type())) return false;
  const Tensor wide = tensor.to_float();
  return std::any_of(wide.floats().begin(), wide.floats().end(),
                     [](float x) { return std::isnan(x); });
}

class Verifier {
 public:
  // Without a float file the simulation runs the float model too.
  Verifier(Simulation& simulation, const std::filesystem::path& qdq_file,
           std::filesystem::path float_file, const VerifyOptions& options)
      : simulation_(simulation),
        options_(options),
        qdq_(Model::load(qdq_file)),
        exported_(qdq_),
        biases_(exporting::stored_biases(simulation, exported_)),
        runs_(simulation, qdq_file, std::move(float_file), exported_, biases_, options) {}

  VerifyResult run(SampleSource& samples) {
    result_.problems = graph::onnx_problems(qdq_);
    check_faces();
    note_functions();
    for (const auto& [level, name] : kLevels) result_.loads.push_back(runs_.load(level, name));
    const bool runs = result_.loads.front().loads && result_.loads.back().loads;
    if (runs) compare(samples);
    const bool agrees = runs && largest_steps() <= options_.max_steps + kSlackOfSteps;
    if (runs && !agrees) {
      result_.first_disagreement = exporting::first_disagreement(
          simulation_, exported_, biases_, worst_, options_.max_steps + kSlackOfSteps);
      if (result_.first_disagreement) result_.first_disagreement->sample = worst_sample_;
      note_missing_casts();
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

  void note_functions() {
    const std::vector<std::string>& functions =
        graph::inlined_functions(simulation_.engine().network().graph());
    if (functions.empty()) return;
    result_.notes.push_back(fmt::format(
        "nodes of the model's own functions stand in place of their calls, so that each "
        "call has quantizers of its own: \"{}\"",
        fmt::join(functions, "\", \"")));
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
    const std::vector<ValueInfo> outputs = simulation_.model().outputs();
    std::vector<std::vector<AgreementSums>> sums(kPairs.size(),
                                                 std::vector<AgreementSums>(outputs.size()));
    samples.rewind();
    for (;;) {
      const std::vector<Feed> feeds = runs_.next_feeds(samples);
      if (feeds.empty()) break;
      if (result_.num_samples == 0) first_ = feeds.front();
      std::array<std::vector<std::vector<Tensor>>, kNumRuns> by_run;
      for (std::size_t run = 0; run < kNumRuns; ++run)
        by_run[run] = runs_.outputs_of(static_cast<Run>(run), feeds);
      for (std::size_t i = 0; i < feeds.size(); ++i) {
        const auto values = [&](Run run, std::size_t o) -> const Tensor& {
          return by_run[run][i][o];
        };
        for (std::size_t o = 0; o < outputs.size(); ++o) {
          if (has_nan(values(kUsualRun, o)) && !has_nan(values(kFloatRun, o))) {
            if (broken_outputs_.empty()) broken_ = feeds[i];
            broken_outputs_.insert(outputs[o].name);
          }
          const double step = step_of(outputs[o].name);
          for (std::size_t p = 0; p < kPairs.size(); ++p)
            sums[p][o].add(values(kPairs[p].reference_run, o), values(kPairs[p].tested_run, o),
                           step);
          AgreementSums here;
          here.add(values(kPlainRun, o), values(kFileRun, o), step);
          if (here.max_steps() > worst_steps_) {
            worst_steps_ = here.max_steps();
            worst_ = feeds[i];
            worst_sample_ = result_.num_samples;
          }
        }
        ++result_.num_samples;
      }
    }
    if (result_.num_samples > 0 && qdq_.opset() > simulation_.model().opset()) check_conversion();
    if (result_.num_samples == 0) {
      throw Error(ErrorCode::kInvalidData, "verify", "there is no sample to compare with",
                  "give at least one");
    }
    note_nan();
    for (std::size_t p = 0; p < kPairs.size(); ++p) {
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        result_.agreements.push_back({.output = outputs[o].name,
                                      .reference = kPairs[p].reference,
                                      .tested = kPairs[p].tested,
                                      .max_difference = sums[p][o].max_difference(),
                                      .max_steps = sums[p][o].max_steps(),
                                      .sqnr_db = sums[p][o].sqnr_db(),
                                      .top1_agreement = sums[p][o].top1_agreement()});
      }
    }
    note_last_bits();
    note_saturation();
    measure_latency();
  }

  void measure_latency() {
    if (options_.num_latency_runs <= 0) return;
    if (runs_.large()) {
      result_.notes.emplace_back(
          "no latency was measured: the weights are so large that each run was set up by itself, "
          "without the copies that make it fast");
      return;
    }
    result_.float_ms = runs_.latency_ms(kFloatRun, first_, options_.num_latency_runs);
    result_.qdq_ms = runs_.latency_ms(kOptimizedRun, first_, options_.num_latency_runs);
  }

  const Agreement& agreement(const std::string& output, const char* reference,
                             const char* tested) const {
    return *std::find_if(
        result_.agreements.begin(), result_.agreements.end(), [&](const Agreement& row) {
          return row.output == output && row.reference == reference && row.tested == tested;
        });
  }

  // Where somebody who compares the usual run with the file would wonder.
  void note_last_bits() {
    const Agreement* worst = nullptr;
    for (const Agreement& row : result_.agreements) {
      if (row.reference == kUsual && row.tested == kFile &&
          (worst == nullptr || row.max_steps > worst->max_steps))
        worst = &row;
    }
    if (worst == nullptr || !(worst->max_steps > options_.max_steps + kSlackOfSteps)) return;
    if (agreement(worst->output, kPlain, kFile).max_steps > options_.max_steps + kSlackOfSteps)
      return;  // a real difference
    result_.notes.push_back(fmt::format(
        "the usual run of the simulation adds up in the order of fused operators, and a value "
        "between two codes then rounds to the other: \"{}\" differs from the file by up to {:.3g} "
        "steps, {:.1f} dB below the signal, where the error of quantization lies {:.1f} dB below "
        "it; computed operator by operator both are the same",
        worst->output, worst->max_steps, worst->sqnr_db,
        agreement(worst->output, "float", kUsual).sqnr_db));
  }

  // 8-bit kernels for x86 without VNNI add two products in 16 bits. Source: ONNX Runtime
  // documentation, "quantize ONNX models", S8S8 and U8U8.
  void note_saturation() {
    constexpr double kGainDb = 3.0;  // below it the order of rounding may be what differs
    const std::vector<ValueInfo> outputs = simulation_.model().outputs();
    const bool optimizations_cost = std::ranges::any_of(outputs, [&](const ValueInfo& output) {
      return agreement(output.name, kUsual, kOptimized).sqnr_db <
             agreement(output.name, kUsual, kFile).sqnr_db - kGainDb;
    });
    if (!optimizations_cost || runs_.large()) return;
    const std::vector<Tensor> file = runs_.outputs_of(kFileRun, {first_}).front();
    const std::vector<Tensor> optimized = runs_.outputs_of(kOptimizedRun, {first_}).front();
    std::optional<std::vector<Tensor>> exact;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      AgreementSums fast;
      fast.add(file[o], optimized[o], step_of(outputs[o].name));
      if (fast.max_steps() <= options_.max_steps + kSlackOfSteps) continue;
      if (!exact) exact = runs_.outputs_of_exact_products(first_);
      if (!exact) return;
      AgreementSums slow;
      slow.add(file[o], (*exact)[o], step_of(outputs[o].name));
      if (slow.sqnr_db() < fast.sqnr_db() + kGainDb) continue;
      result_.notes.push_back(fmt::format(
          "sums of 8-bit products saturate in the fast kernels of this CPU, which has no VNNI: "
          "with all optimizations \"{}\" differs from the file by {:.3g} steps in the first "
          "sample, by {:.3g} without saturation; on such CPUs open the model with the session "
          "option "
          "session.x64quantprecision=1, or give weights 7 bits",
          outputs[o].name, fast.max_steps(), slow.max_steps()));
      return;
    }
  }

  bool has_cast(TensorId exported) const {
    const graph::TensorInfo& info = exported_.tensor(exported);
    const auto is_cast = [&](int node) {
      return node >= 0 && exported_.node(node).op_type == "Cast";
    };
    return is_cast(info.producer) ||
           std::any_of(info.uses.begin(), info.uses.end(),
                       [&](const graph::Use& use) { return is_cast(use.node); });
  }

  // A format without a scale is a pair of Casts in a file, which an export may leave out.
  void note_missing_casts() {
    const simulate::Network& network = simulation_.engine().network();
    for (const int s : network.enabled_state()) {
      const graph::TensorInfo& info =
          network.graph().tensor(network.placement().sites[static_cast<std::size_t>(s)].tensor);
      const Format& format = network.quantizer(s)->format();
      const TensorId t = exported_.find(info.name);
      if (info.is_static || format.needs_encoding() || t == graph::kAbsent || has_cast(t)) continue;
      result_.notes.push_back(fmt::format(
          "the simulation rounds \"{}\" to {}, and the file does not: it was written without the "
          "casts that do so; write them too (float16_casts=True in to_onnx_qdq) to compare",
          info.name, format.name()));
      return;
    }
  }

  void note_nan() {
    if (broken_outputs_.empty()) return;
    const std::string begin = simulate::first_nan(simulation_, broken_);
    result_.notes.push_back(fmt::format(
        "the simulation computes NaN in \"{}\" where the float model does not{}{}; "
        "give what it is computed from more bits or leave that in float; QuantizeLinear "
        "hides it, since NaN becomes the lowest code",
        fmt::join(broken_outputs_, "\", \""), begin.empty() ? "" : ": ", begin));
  }

  // The plain simulation runs with the operator set of the file, whose operators may round in
  // another way. So the conversion is checked by itself, without quantizers that would amplify
  // that.
  void check_conversion() {
    const std::vector<TensorId>& outputs = simulation_.engine().network().graph().outputs();
    const std::vector<Tensor> before = runs_.float_outputs(0, first_);
    const std::vector<Tensor> after = runs_.float_outputs(qdq_.opset(), first_);
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (!is_quantizable_type(before[o].type())) continue;
      AgreementSums sums;
      sums.add(before[o], after[o], 0.0);
      if (sums.max_steps() <= kConversionSteps) continue;
      result_.problems.push_back(fmt::format(
          "raising opset {} to {} changes the float output \"{}\" by {:.3g}",
          simulation_.model().opset(), qdq_.opset(),
          simulation_.engine().network().graph().tensor(outputs[o]).name, sums.max_difference()));
    }
  }

  double largest_steps() const {
    double largest = 0.0;
    for (const Agreement& row : result_.agreements) {
      if (row.reference == kPlain && row.tested == kFile)
        largest = std::max(largest, row.max_steps);
    }
    return largest;
  }

  Simulation& simulation_;
  VerifyOptions options_;
  Model qdq_;
  graph::Graph exported_;
  exporting::StoredBiases biases_;
  exporting::VerifyRuns runs_;
  Feed first_;
  Feed worst_;
  Feed broken_;  // the first that gives NaN
  std::set<std::string> broken_outputs_;
  double worst_steps_ = -1.0;
  std::int64_t worst_sample_ = 0;
  VerifyResult result_;
};

}  // namespace

VerifyResult verify(Simulation& simulation, const std::filesystem::path& qdq_file,
                    SampleSource& samples, const VerifyOptions& options) {
  return Verifier(simulation, qdq_file, {}, options).run(samples);
}

VerifyResult verify(const std::filesystem::path& float_file, const std::filesystem::path& qdq_file,
                    SampleSource& samples, const SimulationOptions& simulation_options,
                    const VerifyOptions& options) {
  Simulation simulation = from_onnx_qdq(Model::load(qdq_file), simulation_options);
  return Verifier(simulation, qdq_file, float_file, options).run(samples);
}

}  // namespace bitsweep
