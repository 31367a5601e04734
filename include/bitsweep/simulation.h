#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/format.h"
#include "bitsweep/model.h"
#include "bitsweep/quantizer.h"
#include "bitsweep/sample_source.h"
#include "bitsweep/tensor.h"

namespace bitsweep::simulate {
class Engine;
class CalibrationRun;
class Reuse;
}  // namespace bitsweep::simulate

namespace BITSWEEP_EXPORT bitsweep {

struct SimulationOptions {
  Format parameter_format = Format::integer(8);
  Format activation_format = Format::integer(8);
  Scheme scheme = Scheme::kMinMax;
  std::string rules = "default";  ///< alias or path of a rules file
  std::vector<std::string> providers = {"CPUExecutionProvider"};
  int num_threads = 0;  ///< threads of one run; 0: one per core
  /// run() adds up in the order that every machine has while an activation has more than 8 bits:
  /// steps so fine show last bits. In a model that takes next to no time, and has few outputs, all
  /// show, so its sweeps do the same. Otherwise, or when off: in the memory layouts that suit this
  /// CPU, which makes convolutional networks up to twice as fast.
  bool portable_runs = true;
  /// Bytes of quantized weights that a calibration may keep beside the model. When they would take
  /// more, each run quantizes them anew, one by one: the same numbers, slower with small inputs.
  std::size_t calibration_copies_bytes = std::size_t{256} << 20;
  std::filesystem::path ort_library;  ///< libonnxruntime to open; empty: searched
  std::vector<std::filesystem::path> custom_op_libraries;
};

/// One row of Simulation::describe(): a tensor and what the simulation does with it.
struct TensorReport {
  std::string tensor;
  std::string status;  ///< "quantized", "tied", "off" or "float"
  std::string role;    ///< "parameter", "activation"; empty for tensors left in float
  std::string format;  ///< e.g. "int8 symmetric per-channel(0)"
  std::string tied_to;
  std::string reason;  ///< rule that decided
};

/// An operator with its quantizers, as the sensitivity tools group them.
struct OperatorInfo {
  std::string name;
  std::string type;
  std::vector<std::string> nodes;   ///< names of the nodes that it stands for, one or more
  std::vector<std::string> inputs;  ///< tensor names, statics included
  std::vector<std::string> outputs;
  std::vector<std::pair<std::string, std::string>> parameters;  ///< (tensor, kind)
  std::int64_t macs = 0;  ///< multiply-accumulates of one sample; 0 before shapes were observed
};

/// A float model with quantizers that can be switched, re-encoded and calibrated without a rebuild.
///
/// The model given stays untouched. Runs use the quantizers' current settings. Not thread-safe.
class Simulation {
 public:
  /// @throws Error(kInvalidModel | kRuntime | kInvalidArgument): ONNX Runtime refuses the model, a
  /// library or provider is missing, the model already holds Q/DQ nodes.
  explicit Simulation(Model model, SimulationOptions options = {});
  ~Simulation();
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  const Model& model() const;
  const SimulationOptions& options() const;

  /// Tensor names with a quantizer, parameters first: the order of every table.
  const std::vector<std::string>& tensor_names() const;
  const std::vector<std::string>& parameter_names() const;
  const std::vector<std::string>& activation_names() const;
  /// Producer-less non-parameter tensors among the activations (graph inputs and constants met as
  /// inputs).
  const std::vector<std::string>& input_quantizer_names() const;

  /// Quantizer of a tensor; tied tensors give the same object. @throws Error(kNotFound).
  std::shared_ptr<Quantizer> quantizer(const std::string& tensor) const;
  void set_quantizer(const std::string& tensor, std::shared_ptr<Quantizer> quantizer);

  /// Operators in topological order, as the placement rules see them.
  std::vector<OperatorInfo> operators() const;
  /// Applies the rules that hold whatever the rules file says (norms, MatMul of two activations,
  /// grouped transposed convolutions) to the quantizers as they are set now; call it after formats
  /// were changed.
  void apply_exception_rules();
  /// The tensor whose enabled quantizer decides the values of `tensor`: itself, or the closest one
  /// upstream that is reached through data movement only; empty when there is none. @throws
  /// Error(kNotFound) for an unknown tensor.
  std::string effective_tensor(const std::string& tensor) const;
  /// Every tensor: quantized, tied, off, or left in float and why.
  std::vector<TensorReport> describe() const;

  /// Checks names, types, ranks and fixed dimensions of a sample. @throws Error(kInvalidData).
  void check_feed(const Feed& feed) const;

  /// Outputs (file order) of the model with the enabled quantizers. Inside a calibration: observes
  /// and returns the outputs of the model with quantized parameters.
  /// @throws Error(kNotReady) when an enabled quantizer has no encoding.
  std::vector<Tensor> run(const Feed& feed);
  /// Outputs of the float model.
  std::vector<Tensor> run_float(const Feed& feed);

  /// Calibrates the enabled quantizers on samples, several side by side; the encodings do not
  /// depend on the number of threads. `on_sample` is called after each sample with the number of
  /// those done and stops the work by returning true. Returns the number of samples.
  /// @throws Error when a sample does not fit, a tensor saw no finite value, or it was stopped
  /// (kCancelled): the old encodings are in place again.
  std::int64_t calibrate(SampleSource& samples,
                         const std::function<bool(std::int64_t num_done)>& on_sample = {});
  /// The same in steps, for those who run the samples: begin, run() each sample, then finish (or
  /// abort: puts the old encodings back).
  void begin_calibration();
  void finish_calibration();
  void abort_calibration();
  bool calibrating() const;
  /// Tensors in which calibration met NaN or infinite values, with their number.
  std::vector<std::pair<std::string, std::int64_t>> non_finite_counts() const;

  /// Between begin and end, run() recognises samples by content and reuses the float pass of each:
  /// a state costs little more than what lies behind its first change, also for metrics of the
  /// user's own. Models that take next to no time run whole. `states`: the sets of tensors that
  /// will be enabled together, so that the network is cut at the right places. `max_memory_bytes`:
  /// for sessions and kept samples; 0: half of the machine's memory.
  void begin_reuse(const std::vector<std::vector<std::string>>& states,
                   std::int64_t max_memory_bytes = 0);
  void end_reuse();

  /// For the modules of the library.
  simulate::Engine& engine() const { return *engine_; }

 private:
  struct Tables;
  int site_index(const std::string& tensor) const;

  std::unique_ptr<simulate::Engine> engine_;
  std::unique_ptr<Tables> tables_;
  std::unique_ptr<simulate::CalibrationRun> calibration_;
  std::unique_ptr<simulate::Reuse> reuse_;
  std::vector<std::pair<std::string, std::int64_t>> non_finite_counts_;
};

}  // namespace BITSWEEP_EXPORT bitsweep
