#include "bitsweep/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "export/first_nan.h"
#include "export/plain_agreement.h"
#include "graph/onnx_checks.h"
#include "simulate/engine.h"
#include "simulate/file_session.h"
#include "simulate/plain_run.h"

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
// 255ths of the range of a float output: rounding stays far below.
constexpr double kConversionSteps = 0.1;

// The simulation computed operator by operator, as the exported model without optimizations is.
constexpr const char* kPlain = "plain simulation";
constexpr const char* kUsual = "simulation";
constexpr const char* kFile = "qdq";

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

bool has_nan(const Tensor& tensor) {
  if (!is_quantizable_type(tensor.type())) return false;
  const Tensor wide = tensor.to_float();
  return std::any_of(wide.floats().begin(), wide.floats().end(),
                     [](float x) { return std::isnan(x); });
}

class Verifier {
 public:
  Verifier(Simulation& simulation, std::filesystem::path qdq_file, Runner run_float,
           const VerifyOptions& options)
      : simulation_(simulation),
        qdq_file_(std::move(qdq_file)),
        run_float_(std::move(run_float)),
        options_(options),
        qdq_(Model::load(qdq_file_)),
        exported_(qdq_),
        biases_(exporting::stored_biases(simulation, exported_)) {}

  VerifyResult run(SampleSource& samples) {
    result_.problems = graph::onnx_problems(qdq_);
    check_faces();
    for (const auto& [level, name] : kLevels) load(level, name);
    const bool runs = plain_ != nullptr && optimized_ != nullptr;
    if (runs) compare(samples);
    const bool agrees = runs && largest_steps() <= options_.max_steps + kSlackOfSteps;
    if (runs && !agrees) {
      result_.first_disagreement = exporting::first_disagreement(
          simulation_, exported_, biases_, worst_, options_.max_steps + kSlackOfSteps);
      if (result_.first_disagreement) result_.first_disagreement->sample = worst_sample_;
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
    static constexpr std::array<std::pair<const char*, const char*>, 5> kPairs = {
        {{kPlain, kFile},
         {kUsual, kFile},
         {kUsual, "qdq optimized"},
         {"float", kUsual},
         {"float", "qdq optimized"}}};
    const std::vector<ValueInfo> outputs = simulation_.model().outputs();
    const simulate::PlainRun plain_run(simulation_.engine(),
                                       {.constants = biases_.by_tensor,
                                        .constant_inputs = biases_.by_input,
                                        .opset = qdq_.opset(),
                                        .outputs = simulation_.engine().graph().outputs()});
    std::vector<std::vector<AgreementSums>> sums(kPairs.size(),
                                                 std::vector<AgreementSums>(outputs.size()));
    Feed feed;
    samples.rewind();
    while (samples.next(&feed)) {
      simulation_.check_feed(feed);
      if (result_.num_samples == 0) first_ = feed;
      const std::vector<Tensor> reference = run_float_(feed);
      const std::vector<Tensor> simulated = simulation_.run(feed);
      const std::vector<Tensor> plainly = plain_run.run(feed);
      const std::vector<Tensor> plain = plain_->run(feed);
      const std::vector<Tensor> optimized = optimized_->run(feed);
      const std::vector<Tensor>* by_pair[][2] = {{&plainly, &plain},
                                                 {&simulated, &plain},
                                                 {&simulated, &optimized},
                                                 {&reference, &simulated},
                                                 {&reference, &optimized}};
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (has_nan(simulated[o]) && !has_nan(reference[o])) {
          if (broken_outputs_.empty()) broken_ = feed;
          broken_outputs_.insert(outputs[o].name);
        }
        const double step = step_of(outputs[o].name);
        for (std::size_t p = 0; p < kPairs.size(); ++p)
          sums[p][o].add((*by_pair[p][0])[o], (*by_pair[p][1])[o], step);
        AgreementSums here;
        here.add(plainly[o], plain[o], step);
        if (here.max_steps() > worst_steps_) {
          worst_steps_ = here.max_steps();
          worst_ = feed;
          worst_sample_ = result_.num_samples;
        }
      }
      ++result_.num_samples;
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
                                      .reference = kPairs[p].first,
                                      .tested = kPairs[p].second,
                                      .max_difference = sums[p][o].max_difference(),
                                      .max_steps = sums[p][o].max_steps(),
                                      .sqnr_db = sums[p][o].sqnr_db(),
                                      .top1_agreement = sums[p][o].top1_agreement()});
      }
    }
    note_last_bits();
    if (options_.num_latency_runs > 0) {
      result_.float_ms = median_ms(run_float_, first_, options_.num_latency_runs);
      result_.qdq_ms = median_ms([&](const Feed& f) { return optimized_->run(f); }, first_,
                                 options_.num_latency_runs);
    }
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

  void note_nan() {
    if (broken_outputs_.empty()) return;
    const std::string begin = exporting::first_nan(simulation_, broken_);
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
    const std::vector<TensorId>& outputs = simulation_.engine().graph().outputs();
    const auto run = [&](std::int64_t opset) {
      return simulate::PlainRun(simulation_.engine(),
                                {.opset = opset, .quantized = false, .outputs = outputs})
          .run(first_);
    };
    const std::vector<Tensor> before = run(0);
    const std::vector<Tensor> after = run(qdq_.opset());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if (!is_quantizable_type(before[o].type())) continue;
      AgreementSums sums;
      sums.add(before[o], after[o], 0.0);
      if (sums.max_steps() <= kConversionSteps) continue;
      result_.problems.push_back(
          fmt::format("raising opset {} to {} changes the float output \"{}\" by {:.3g}",
                      simulation_.model().opset(), qdq_.opset(),
                      simulation_.engine().graph().tensor(outputs[o]).name, sums.max_difference()));
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
  std::filesystem::path qdq_file_;
  Runner run_float_;
  VerifyOptions options_;
  Model qdq_;
  graph::Graph exported_;
  exporting::StoredBiases biases_;
  std::unique_ptr<FileSession> plain_;
  std::unique_ptr<FileSession> optimized_;
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
