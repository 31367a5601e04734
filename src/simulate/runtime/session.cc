#include "simulate/runtime/session.h"

#include <array>
#include <exception>
#include <string>
#include <utility>

#include <onnxruntime_cxx_api.h>

#include "base/freed_memory.h"
#include "bitsweep/error.h"
#include "simulate/runtime/custom_ops.h"
#include "simulate/runtime/ort_library.h"
#include "simulate/runtime/ort_values.h"
#include "simulate/runtime/packed_weights.h"
#include "simulate/runtime/quantizer_op.h"
#include "simulate/runtime/runtime_version.h"

namespace bitsweep::simulate {
namespace {

// ONNX Runtime accepts weights by pointer only for initializers that claim to live in an existing
// file of a folder it knows; it never opens it.
constexpr const char* kWeightsFolder = "/dev";

// Measured with ONNX Runtime 1.32: what a session of a few operators takes.
constexpr std::size_t kSessionBytes = std::size_t{1} << 20;

// Above this, weights that are quantized anew in each run are so large that the arena, which keeps
// what was freed, would hold a good part of the model.
constexpr std::size_t kLargeWeightBytes = std::size_t{256} << 20;

std::size_t weight_bytes(const graph::Piece& piece) {
  std::size_t bytes = 0;
  for (const graph::ExternalInitializer& weight : piece.initializers)
    bytes += weight.value.size_bytes();
  return bytes;
}

}  // namespace

struct Session::Impl {
  graph::Piece piece;
  std::shared_ptr<PackedWeights> packed_weights;  // must live as long as the session
  std::vector<Ort::Value> weights;                // must live as long as the session
  Ort::Session session{nullptr};
  std::vector<const char*> input_names;
  std::vector<InputKind> input_kinds;  // in the order of input_names
  std::vector<const char*> output_names;
};

namespace {

GraphOptimizationLevel optimization_level(Optimization optimization) {
  switch (optimization) {
    case Optimization::kNone:
      return ORT_DISABLE_ALL;
    case Optimization::kPortable:
      return ORT_ENABLE_EXTENDED;
    case Optimization::kFull:
      break;
  }
  return ORT_ENABLE_ALL;
}

// The optimizer reads weights (it folds batch norms, reorders filters), so it gets copies that it
// may replace, unless it has no reason to look at them; a session that is not optimized uses our
// buffers as they are.
void give_weights(Session::Impl& impl, bool copy, Ort::SessionOptions* so) {
  std::vector<std::string> names;
  std::vector<Ort::Value> copied;
  impl.weights.clear();
  for (const graph::ExternalInitializer& weight : impl.piece.initializers) {
    if (copy && !weight.shareable) {
      copied.push_back(as_value(weight.value));
      names.push_back(weight.name);
    } else {
      impl.weights.push_back(as_value(weight.value));
      so->AddInitializer(weight.name.c_str(), impl.weights.back());
    }
  }
  if (!names.empty()) so->AddExternalInitializers(names, copied);
}

void make_session(Session::Impl& impl, const SessionOptions& options) {
  const bool optimized = options.optimization != Optimization::kNone;
  Ort::Env& env = ort_environment(options.pool_threads);
  Ort::SessionOptions so;
  so.SetLogSeverityLevel(ORT_LOGGING_LEVEL_FATAL);
  so.SetGraphOptimizationLevel(optimization_level(options.optimization));
  if (!optimized && weight_bytes(impl.piece) > kLargeWeightBytes) {
    so.DisableCpuMemArena();
    so.DisableMemPattern();
  } else {
    so.AddConfigEntry("session.use_env_allocators", "1");
  }
  // Outside of the arena, which would keep what a dropped session held.
  so.AddConfigEntry("session.use_device_allocator_for_initializers", "1");
  so.AddConfigEntry("session.model_external_initializers_file_folder_path", kWeightsFolder);
  if (!optimized || !options.pack_weights) so.AddConfigEntry("session.disable_prepacking", "1");
  if (options.num_threads > 1 && options.num_threads == ort_pool_threads()) {
    so.DisablePerSessionThreads();
  } else {
    so.SetIntraOpNumThreads(options.num_threads);
    so.AddConfigEntry("session.intra_op.allow_spinning", "0");
  }
  so.Add(quantizer_op_domain());
  register_custom_ops(options.custom_op_libraries, &so);
  give_weights(impl, optimized, &so);
  const std::string& bytes = impl.piece.bytes;
  if (optimized && options.packed_weights != nullptr) {
    impl.packed_weights = options.packed_weights;
    impl.session = Ort::Session(env, bytes.data(), bytes.size(), so, impl.packed_weights->get());
  } else {
    impl.session = Ort::Session(env, bytes.data(), bytes.size(), so);
  }
}

// Some optimization may want to read a weight after all, and the runtime then finds no file.
void make_session_sharing_weights(Session::Impl& impl, const SessionOptions& options) {
  try {
    make_session(impl, options);
  } catch (const Ort::Exception&) {
    bool shared = false;
    for (graph::ExternalInitializer& weight : impl.piece.initializers)
      shared = std::exchange(weight.shareable, false) || shared;
    if (!shared) throw;
    make_session(impl, options);
  }
}

// A scalar and an unknown rank both have no dimensions. Runtimes from 1.32 on count no elements for
// the latter; older ones may count one for both, and are not asked.
bool is_scalar(const Ort::ConstTensorTypeAndShapeInfo& info) {
  constexpr int kFirstMinorVersion = 32;
  static const bool counts = std::stoi(runtime_version().substr(2)) >= kFirstMinorVersion;
  return counts && info.GetElementCount() == 1;
}

}  // namespace

Session::Session(graph::Piece piece, const SessionOptions& options)
    : freed_bytes_may_stay_(options.freed_bytes_may_stay) {
  open_ort_library(options.ort_library);
  impl_ = std::make_unique<Impl>();  // its members call the runtime, even when nothing was made
  Impl& impl = *impl_;
  impl.piece = std::move(piece);
  try {
    make_session_sharing_weights(impl, options);
  } catch (const Ort::Exception& e) {
    throw Error(ErrorCode::kRuntime, "simulate",
                "ONNX Runtime refuses the model: " + reason_text(e),
                "check that onnxruntime.InferenceSession loads the float model");
  }
  size_bytes_ = size_of(impl.piece, options);
  // The serialized piece is not needed any more; the weights only where the session points at them.
  impl.piece.bytes.clear();
  impl.piece.bytes.shrink_to_fit();
  if (options.optimization != Optimization::kNone)
    std::erase_if(impl.piece.initializers,
                  [](const graph::ExternalInitializer& weight) { return !weight.shareable; });
  // The runtime copied weights while it made the session.
  give_back_freed_memory(size_bytes_, freed_bytes_may_stay_);
  for (std::size_t i = 0; i < impl.piece.input_names.size(); ++i) {
    impl.input_names.push_back(impl.piece.input_names[i].c_str());
    impl.input_kinds.push_back(input_kind(impl.session.GetInputTypeInfo(i)));
  }
  for (const std::string& name : impl.piece.output_names) impl.output_names.push_back(name.c_str());
}

Session::~Session() {
  impl_.reset();
  give_back_freed_memory(size_bytes_, freed_bytes_may_stay_);
}

std::size_t Session::size_of(const graph::Piece& piece, const SessionOptions& options) {
  std::size_t bytes = kSessionBytes + piece.bytes.size();
  if (options.optimization == Optimization::kNone) return bytes + options.own_weight_bytes;
  for (const graph::ExternalInitializer& weight : piece.initializers)
    bytes += weight.shareable ? 0 : weight.value.size_bytes();
  return bytes;
}

DataType Session::output_type(std::size_t i) const {
  const Ort::TypeInfo info = impl_->session.GetOutputTypeInfo(i);
  if (info.GetONNXType() != ONNX_TYPE_TENSOR) return DataType::kUndefined;
  return static_cast<DataType>(info.GetTensorTypeAndShapeInfo().GetElementType());
}

std::optional<std::vector<Dimension>> Session::output_shape(std::size_t i) const {
  const Ort::TypeInfo info = impl_->session.GetOutputTypeInfo(i);
  if (info.GetONNXType() != ONNX_TYPE_TENSOR) return std::nullopt;
  const auto tensor = info.GetTensorTypeAndShapeInfo();
  if (tensor.GetDimensionsCount() == 0 && !is_scalar(tensor)) return std::nullopt;
  std::vector<Dimension> dimensions;
  std::vector<const char*> names(tensor.GetDimensionsCount());
  tensor.GetSymbolicDimensions(names.data(), names.size());
  for (const std::int64_t size : tensor.GetShape())
    dimensions.push_back({size, names[dimensions.size()]});
  return dimensions;
}

std::vector<Tensor> Session::run(std::span<const Tensor> inputs, const RunState* state) const {
  const Impl& impl = *impl_;
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(state));
  const std::array<std::int64_t, 1> shape = {1};
  std::vector<Ort::Value> values;
  values.reserve(inputs.size() + 1);
  std::vector<const char*> names = impl.input_names;
  std::vector<Ort::Value> results;
  try {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      values.push_back(as_input(inputs[i], impl.input_kinds[i]));
    if (state != nullptr) {
      values.push_back(Ort::Value::CreateTensor<std::int64_t>(
          cpu_memory(), const_cast<std::int64_t*>(&address), 1, shape.data(), shape.size()));
      names.push_back(impl.piece.state_input.c_str());
    }
    // Session::Run is const in the C API's sense: the runtime allows concurrent calls.
    results = const_cast<Ort::Session&>(impl.session)
                  .Run(Ort::RunOptions{nullptr}, names.data(), values.data(), values.size(),
                       impl.output_names.data(), impl.output_names.size());
  } catch (const Ort::Exception& e) {
    throw Error(
        ErrorCode::kRuntime, "simulate",
        "ONNX Runtime failed while running the model: " + reason_text(e),
        "run the float model with the same sample in onnxruntime to see whether it accepts it");
  }
  std::vector<Tensor> outputs;
  outputs.reserve(results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    outputs.push_back(as_tensor(std::move(results[i]), impl.piece.output_names[i]));
  }
  return outputs;
}

}  // namespace bitsweep::simulate
