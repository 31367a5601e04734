#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "simulate/parts/part_sessions.h"
#include "simulate/parts/work_counter.h"
#include "simulate/reuse/repeated_bits.h"
#include "simulate/reuse/split_network.h"

namespace bitsweep::simulate {

/// The float pass of one sample and what states need of it. Filled by Evaluator::open_sample;
/// afterwards safe to share.
class Sample {
 public:
  const std::vector<Tensor>& outputs() const { return outputs_; }
  /// Bytes of all tensors it keeps.
  std::int64_t size_bytes() const;

 private:
  friend class Evaluator;
  struct Reference {
    std::once_flag once;
    bool is_float_pass = false;   // the suffix repeats its bits
    std::vector<Tensor> outputs;  // otherwise
  };
  TensorValues values_;          // float values of the tensors that are live at some cut
  std::vector<Tensor> outputs_;  // of the float pass, file order
  std::string shapes_;           // of the feed
  // By suffix: its outputs from the float boundary.
  std::vector<std::unique_ptr<Reference>> references_;
};

/// Outputs of a state with the float outputs to compare them with: both went through the same last
/// session.
struct Evaluation {
  std::vector<Tensor> outputs;
  const std::vector<Tensor>* reference = nullptr;  ///< lives in the Sample
};

/// The one idea: a state is run from the last cut before its first change to the first cut behind
/// its last one, in a session that holds just its quantizers; from there the float suffix of the
/// network finishes. What lies before comes from the sample's float pass. Thread-safe but for the
/// setters.
class Evaluator {
 public:
  Evaluator(const Network& network, const Shapes& shapes, PartSessions& sessions,
            WorkCounter& work);

  /// Applies to the samples opened afterwards.
  void set_plan(const EvaluationPlan& plan);
  /// Back to whole passes, threads inside them.
  void clear_plan() { set_plan({.threads_per_run = network_.num_threads()}); }
  const SplitNetwork& split() const { return split_; }
  std::size_t open_samples() const { return open_samples_; }
  /// As far as they were found under this plan.
  BitCounts repeated_bits() const { return repeated_.counts(); }
  /// Off: nothing is taken as known, and every run is made: to prove that this changes no bit.
  /// Sessions are kept as long as the memory limit lets them.
  void set_shortcuts(bool on) { shortcuts_ = on; }
  bool shortcuts() const { return shortcuts_; }

  /// Float pass. @throws Error(kInvalidModel) where inputs or outputs are no tensors.
  std::shared_ptr<Sample> open_sample(const Feed& feed);
  /// Computes the outputs of one float suffix ahead of the states that need them.
  void prepare_reference(Sample& sample, int suffix);
  /// Whether that suffix repeats the sample's float pass to the last bit.
  bool repeats_float_pass(Sample& sample, int suffix);
  Evaluation evaluate(const State& state, Sample& sample);
  /// The same without the reference, for callers that have their own.
  std::vector<Tensor> evaluate_outputs(const State& state, const Sample& sample);

 private:
  /// What a state may have changed of the values behind its span.
  struct Boundary {
    TensorValues values;
    bool changed = false;  ///< some value differs from the float pass
  };
  Boundary boundary_of(const State& state, Span span, const Sample& sample);
  Boundary quantize_boundary(const State& state, const Sample& sample) const;
  Boundary run_span(const State& state, Span span, const Sample& sample);
  std::vector<Tensor> finish(int suffix, const TensorValues& boundary, const Sample& sample);

  const Network& network_;
  const Shapes& shapes_;
  PartSessions& sessions_;
  WorkCounter& work_;
  SplitNetwork split_;
  int threads_per_run_ = 1;
  Optimization optimization_ = Optimization::kFull;
  std::size_t open_samples_ = 2;
  bool shortcuts_ = true;
  RepeatedBits repeated_;
};

}  // namespace bitsweep::simulate
