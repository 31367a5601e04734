#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bitsweep/simulation.h"
#include "graph/graph.h"
#include "graph/placement.h"
#include "graph/subgraph.h"
#include "simulate/node_order.h"
#include "simulate/session_cache.h"

namespace bitsweep::simulate {

/// What is quantized in one evaluation: indices of active sites, ascending. Every site uses its
/// quantizer's encoding.
using State = std::vector<int>;

/// The positions that split the network for a sweep: 0 < ... < NodeOrder::size(). Empty: nothing is
/// reused.
using Cuts = std::vector<int>;

/// Where a state changes the network.
struct Change {
  int first = 0;  ///< positions of the first and the last change
  int last = 0;
  /// Where all that is quantized are tensors of the float pass that nobody reads before `read`:
  /// they exist from `made` on, and a cut behind it and not behind `read` takes them quantized, so
  /// that nothing in front of the cut has to run. Otherwise no position is in between.
  int made = 0;
  int read = 0;

  /// The cut (of ascending ones) that takes the changed tensors as they are.
  std::optional<int> taken_at(const Cuts& cuts) const;
};

/// A float end of the network: all that lies behind a cut, or only what some tensors at the cut
/// reach (the other branches of a branchy network keep the values of the float pass).
struct Suffix {
  int begin = 0;                         ///< position of the cut
  std::vector<graph::TensorId> changed;  ///< empty: everything behind the cut
  std::vector<int> nodes;                ///< ascending
  std::vector<graph::TensorId>
      inputs;  ///< live at the cut, or made behind it by nodes that are left out
  std::vector<graph::TensorId> outputs;  ///< graph outputs that it makes
  double cost = 0.0;                     ///< in units of one float pass
};

/// Of suffixes (index) that gave the very bits of the float pass for samples of these shapes: how
/// many bits they made.
using RepeatedBits = std::map<std::pair<int, std::string>, std::int64_t>;

/// How the states of a sweep are run; see plan_cuts().
struct EnginePlan {
  Cuts cuts;
  /// Cut (index) and tensors live there for which a suffix of their own pays.
  std::vector<std::pair<int, std::vector<graph::TensorId>>> partial_suffixes;
  int threads_per_run = 1;   ///< 1 when many states run side by side
  bool pack_weights = true;  ///< see SessionOptions
  /// Of which the states run in step, so that little memory needs to hold few sessions.
  std::size_t open_samples = 2;
  std::size_t session_bytes = 0;  ///< that may be kept of sessions; 0: as it was
  RepeatedBits repeated_bits;     ///< as far as known
};

struct FoundPlan;  // see exact_plan.h

/// The float pass of one sample and what states need of it. Filled by Engine::open_sample;
/// afterwards safe to share.
class Sample {
 public:
  const std::vector<Tensor>& outputs() const { return outputs_; }
  /// Bytes of all tensors it keeps.
  std::int64_t size_bytes() const;

 private:
  friend class Engine;
  struct Reference {
    std::once_flag once;
    bool is_float_pass = false;   // the suffix repeats its bits
    std::vector<Tensor> outputs;  // otherwise
  };
  std::map<graph::TensorId, Tensor>
      values_;                   // float values of the tensors that are live at some cut
  std::vector<Tensor> outputs_;  // of the float pass, file order
  std::string shapes_;           // of the feed
  std::vector<std::unique_ptr<Reference>>
      references_;  // by suffix: its outputs from the float boundary
};

/// Outputs of a state with the float outputs to compare them with: both went through the same last
/// session.
struct Evaluation {
  std::vector<Tensor> outputs;
  const std::vector<Tensor>* reference = nullptr;  ///< lives in the Sample
};

/// The one idea: a state is run from the last cut before its first change to the first cut behind
/// its last one, in a session that holds just its quantizers; from there the float suffix of the
/// network finishes. What lies before comes from the sample's float pass.
class Engine {
 public:
  Engine(Model model, SimulationOptions options);

  const graph::Graph& graph() const { return graph_; }
  const graph::Placement& placement() const { return placement_; }
  const NodeOrder& order() const { return order_; }
  const SimulationOptions& options() const { return options_; }
  int num_threads() const { return num_threads_; }

  const std::shared_ptr<Quantizer>& quantizer(int site) const {
    return quantizers_[static_cast<std::size_t>(site)];
  }
  void set_quantizer(int site, std::shared_ptr<Quantizer> quantizer);
  /// Why a site is as it is: what a calibration found, else the rule that placed it.
  const std::string& reason(int site) const;
  void set_note(int site, std::string note) { notes_[site] = std::move(note); }
  void clear_note(int site) { notes_.erase(site); }
  /// Sites whose quantizer is enabled now.
  State enabled_state() const;
  /// Sites that use one of these quantizers.
  State sites_of(const std::vector<const Quantizer*>& quantizers) const;
  /// @throws Error(kNotReady) naming the first site of the state without an encoding.
  void check_ready(const State& state) const;

  /// Runs the whole model with the state, threads inside the run.
  std::vector<Tensor> run(const State& state, const Feed& feed);
  /// The same, adding up in the order that every machine has also where steps are coarse, unless
  /// the options ask for speed.
  std::vector<Tensor> run_portable(const State& state, const Feed& feed);
  /// The same for tensors inside the model, behind their quantizers; each must depend on the feed.
  std::vector<Tensor> run_tensors(const State& state, const Feed& feed,
                                  const std::vector<graph::TensorId>& tensors);
  /// Runs with quantized parameters; every enabled activation quantizer observes.
  /// With an order, samples may be observed side by side; `sample` is the number of this one.
  /// Divisors are watched when somebody asks.
  std::vector<Tensor> observe(const Feed& feed, DivisorWatch* divisors = nullptr,
                              ObserverOrder* order = nullptr, std::int64_t sample = 0);
  /// How many samples may be observed side by side.
  int num_observers() const;
  /// A constant beside activations in a histogram of batches: each run observes it anew, so that it
  /// weighs as in the reference. Other constants are observed once.
  bool observed_in_every_run(int site) const;
  /// How often each quantizer observes in a run.
  std::map<const Quantizer*, int> observed_sites() const;

  /// Frees what only observing needed.
  void end_observation();

  /// Runs the float model once with all tensors exposed: shapes (and so costs) become known.
  void observe_shapes(const Feed& feed);
  /// Keeps a sample for find_shapes(), unless shapes are known or one is kept.
  void keep_for_shapes(const Feed& feed);
  /// Whether shapes are known; finds them where a sample was kept.
  bool find_shapes();

  /// Cost of nodes [begin, end) in units of one float pass.
  double cost(int begin, int end) const;
  /// Estimated time of a float pass, as far as shapes are known.
  double float_pass_ns() const { return float_pass_ns_; }
  /// nullopt when nothing that the state changes is ever read.
  std::optional<Change> change_of(const State& state) const;

  /// Applies to the samples opened afterwards.
  void set_plan(const EnginePlan& plan);
  const Cuts& cuts() const { return cuts_; }
  const Suffix& suffix(int index) const { return suffixes_[static_cast<std::size_t>(index)]; }
  /// As far as they were found under this plan.
  RepeatedBits repeated_bits();
  /// The last plan that set_exact_plan() found for this engine.
  std::shared_ptr<const FoundPlan>& found_plan() { return found_plan_; }
  std::size_t open_samples() const { return open_samples_; }
  void set_memory_limit(std::size_t bytes) { sessions_.set_capacity(bytes); }
  /// Off: nothing is taken as known, and every run is made: to prove that this changes no bit.
  /// Sessions are kept as long as the memory limit lets them.
  void set_shortcuts(bool on) { shortcuts_ = on; }
  bool shortcuts() const { return shortcuts_; }
  /// Of the sessions that are kept.
  std::size_t session_bytes() const { return sessions_.size_bytes(); }

  /// Float pass. Thread-safe, like evaluate().
  std::shared_ptr<Sample> open_sample(const Feed& feed);
  /// Computes the outputs of one float suffix ahead of the states that need them.
  void prepare_reference(Sample& sample, int suffix);
  /// Whether that suffix repeats the sample's float pass to the last bit.
  bool repeats_float_pass(Sample& sample, int suffix);
  Evaluation evaluate(const State& state, Sample& sample);
  /// The same without the reference, for callers that have their own.
  std::vector<Tensor> evaluate_outputs(const State& state, const Sample& sample);
  /// Index of the suffix that finishes the state; num_suffixes() when it runs to the end of the
  /// network in one go.
  int suffix_of(const State& state) const;
  int num_suffixes() const { return static_cast<int>(suffixes_.size()); }
  /// Tensors live at the cut behind the state's last change that the state can change.
  std::vector<graph::TensorId> changed_behind(const State& state) const;
  /// The part of the network that `changed` reaches behind a cut; empty: all of it.
  Suffix make_suffix(int cut_position, const std::vector<graph::TensorId>& changed) const;

  /// Work since reset_counters(): runs, and their cost in units of one float pass.
  void reset_counters();
  std::int64_t num_runs() const { return num_runs_.load(); }
  /// Counts work of an earlier time, of which this one profits.
  void count_again(std::int64_t runs, double cost);
  double forward_equivalents() const;

 private:
  /// Empty where a state changes nothing but tensors that a cut takes.
  struct Span {
    int begin = 0;
    int end = 0;
    bool empty() const { return begin == end; }
  };
  /// A session of a part of the network with the tensors it was built for.
  struct PartSession {
    std::shared_ptr<const Session> session;
    std::vector<graph::TensorId> inputs;
    std::vector<graph::TensorId> outputs;
  };
  /// A run of the whole model without its feed.
  struct WholeRun {
    PartSession session;
    RunState state;
    bool has_nodes = false;
  };
  /// The last one, kept for the next run: putting it together takes as long as a small model runs.
  struct LastRun {
    State state;
    Optimization optimization = Optimization::kFull;
    std::vector<std::uint64_t> versions;   ///< of the state's quantizers
    std::weak_ptr<const Session> session;  ///< the cache may drop it
    std::shared_ptr<const WholeRun> run;   ///< without its session
  };

  /// What a session is for. Its quantized weights are constants, or computed anew in each run,
  /// where they take memory one by one.
  enum class Purpose : std::uint8_t { kEvaluate, kObserve, kObserveWithoutCopies };

  /// Sessions for observing have keys of their own, to be dropped together.
  static constexpr const char* kObserveKey = "observe ";

  Span span_of(const State& state, int* last_cut) const;
  struct Boundary {
    std::map<graph::TensorId, Tensor> values;
    bool changed = false;  ///< some value differs from the float pass
  };
  bool is_static_site(int site) const;
  WholeRun make_whole_run(const State& state, const std::vector<graph::TensorId>& outputs,
                          Optimization optimization);
  std::vector<Tensor> run(const State& state, const Feed& feed, Optimization optimization);
  std::vector<Tensor> run_whole(const WholeRun& run, const PartSession& session, const Feed& feed);
  bool quantizes_in(int site, Span span) const;
  bool may_overwrite(graph::TensorId t, Span span) const;
  PartSession suffix_session(const Suffix& suffix);
  PartSession span_session(Span span, const State& state,
                           const std::vector<graph::TensorId>& outputs, int threads,
                           Optimization optimization, Purpose purpose = Purpose::kEvaluate);
  /// The values behind the state's span that it may have changed.
  Boundary boundary_of(const State& state, const Sample& sample);
  /// Of a state that changes nothing but them.
  Boundary quantize_boundary(const State& state, const Sample& sample) const;
  Boundary run_state_span(const State& state, Span span, const Sample& sample);
  /// The outputs behind that boundary; num_suffixes(): it is the end of the network.
  std::vector<Tensor> finish_state(int suffix, const Boundary& boundary, const Sample& sample);
  std::string span_key(Span span, const State& state, const std::vector<graph::TensorId>& outputs,
                       int threads) const;
  std::vector<Tensor> run_part(const PartSession& session,
                               const std::map<graph::TensorId, Tensor>& values,
                               const RunState* state);
  std::vector<Tensor> finish(const Suffix& suffix,
                             const std::map<graph::TensorId, Tensor>& boundary,
                             const Sample& sample);
  /// Of the float values that were computed anew; see kEnoughBits.
  static std::int64_t bits_made(const std::vector<Tensor>& outputs, const Sample& sample);
  std::map<graph::TensorId, Tensor> feed_values(const Feed& feed) const;
  std::vector<Tensor> in_output_order(const std::map<graph::TensorId, Tensor>& values,
                                      const std::vector<Tensor>& fallback) const;
  std::vector<graph::TensorId> distinct_outputs() const;
  RunState run_state(const State& state) const;
  void count(double cost);
  bool observes_activation(int site) const;
  bool observes(int site) const;  ///< in each run of a calibration
  bool is_stored_parameter(int site) const;
  Tensor value_of_site(int site) const;
  Purpose purpose_of_observing(const State& state) const;
  SessionOptions session_options(int threads) const;
  graph::SubgraphSpec every_tensor() const;
  void infer_types();
  std::vector<graph::TensorId> infer_shapes(const graph::SubgraphSpec& spec);
  void run_for_shapes(graph::SubgraphSpec spec, const std::vector<graph::TensorId>& tensors,
                      const std::map<graph::TensorId, Tensor>& values);

  SimulationOptions options_;
  int num_threads_ = 1;
  graph::Graph graph_;
  graph::Placement placement_;
  NodeOrder order_;
  std::vector<std::shared_ptr<Quantizer>> quantizers_;  // by site
  std::map<int, std::string> notes_;                    // by site
  std::shared_ptr<PackedWeights> packed_weights_;       // of all sessions
  SessionCache sessions_;
  std::vector<double> cost_before_;  // prefix sums over positions, in units of the whole; empty
                                     // before shapes are known
  double float_pass_ns_ = 0.0;       ///< estimated, once shapes are known
  bool shapes_known_ = false;
  std::mutex shapes_mutex_;  // guards the two around it in find_shapes()
  Feed shapes_sample_;       // until shapes are known
  bool static_shapes_ =
      false;  // the model fixes every input's shape: the parts may fix theirs, for the same fusions
  Cuts cuts_;
  std::vector<Suffix> suffixes_;  // one per cut, then the partial ones
  std::map<std::pair<int, std::vector<graph::TensorId>>, int> partial_;  // cut, changed -> suffix
  int threads_per_run_ = 1;
  bool pack_weights_ = true;
  std::size_t open_samples_ = 2;
  bool shortcuts_ = true;
  std::vector<graph::TensorId> boundary_tensors_;  // live at some cut
  std::mutex exact_mutex_;
  RepeatedBits repeated_bits_;  // with enough of them a reference is known
  std::shared_ptr<const FoundPlan> found_plan_;
  std::mutex last_run_mutex_;
  LastRun last_run_;
  std::atomic<std::int64_t> num_runs_{0};
  std::atomic<double> cost_run_{0.0};
};

}  // namespace bitsweep::simulate
