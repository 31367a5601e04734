#include "simulate/runtime/file_session.h"

#include <onnxruntime_cxx_api.h>

#include <utility>

#include "bitsweep/error.h"
#include "simulate/runtime/custom_ops.h"
#include "simulate/runtime/ort_library.h"
#include "simulate/runtime/ort_values.h"

namespace bitsweep::simulate {
namespace {

GraphOptimizationLevel ort_level(OptimizationLevel level) {
  switch (level) {
    case OptimizationLevel::kDisabled:
      return ORT_DISABLE_ALL;
    case OptimizationLevel::kBasic:
      return ORT_ENABLE_BASIC;
    case OptimizationLevel::kExtended:
      return ORT_ENABLE_EXTENDED;
    case OptimizationLevel::kAll:
      break;
  }
  return ORT_ENABLE_ALL;
}

}  // namespace

struct FileSession::Impl {
  Ort::Session session{nullptr};
  std::vector<std::string> inputs;
  std::vector<InputKind> input_kinds;  // in the order of inputs
  std::vector<std::string> outputs;
};

FileSession::FileSession(const std::filesystem::path& file, const FileSessionOptions& options) {
  open_ort_library(options.ort_library);
  impl_ = std::make_unique<Impl>();
  try {
    Ort::Env& env = ort_environment(options.num_threads);
    Ort::SessionOptions so;
    so.SetLogSeverityLevel(ORT_LOGGING_LEVEL_FATAL);
    so.SetGraphOptimizationLevel(ort_level(options.level));
    so.SetIntraOpNumThreads(options.num_threads);
    if (options.exact_products) so.AddConfigEntry("session.x64quantprecision", "1");
    if (options.small) {
      so.AddConfigEntry("session.disable_prepacking", "1");
      so.DisableCpuMemArena();
      so.DisableMemPattern();
    }
    register_custom_ops(options.custom_op_libraries, &so);
    impl_->session = Ort::Session(env, file.c_str(), so);
    Ort::AllocatorWithDefaultOptions allocator;
    for (std::size_t i = 0; i < impl_->session.GetInputCount(); ++i) {
      impl_->inputs.emplace_back(impl_->session.GetInputNameAllocated(i, allocator).get());
      impl_->input_kinds.push_back(input_kind(impl_->session.GetInputTypeInfo(i)));
    }
    for (std::size_t i = 0; i < impl_->session.GetOutputCount(); ++i)
      impl_->outputs.emplace_back(impl_->session.GetOutputNameAllocated(i, allocator).get());
  } catch (const Ort::Exception& e) {
    throw Error(ErrorCode::kRuntime, "verify",
                "ONNX Runtime refuses \"" + file.string() + "\": " + reason_text(e),
                "choose formats that this runtime knows, or a newer runtime");
  }
}

FileSession::~FileSession() = default;

const std::vector<std::string>& FileSession::output_names() const { return impl_->outputs; }

std::vector<Tensor> FileSession::run(const Feed& feed) const {
  std::vector<const char*> inputs;
  std::vector<const char*> outputs;
  std::vector<Ort::Value> values;
  std::vector<Ort::Value> results;
  try {
    for (std::size_t i = 0; i < impl_->inputs.size(); ++i) {
      const std::string& name = impl_->inputs[i];
      const auto it = feed.find(name);
      if (it == feed.end()) {
        throw Error(ErrorCode::kInvalidData, "verify",
                    "a sample has no value for input \"" + name + "\"",
                    "give every input of the model");
      }
      inputs.push_back(name.c_str());
      values.push_back(as_input(it->second, impl_->input_kinds[i]));
    }
    for (const std::string& name : impl_->outputs) outputs.push_back(name.c_str());
    results = impl_->session.Run(Ort::RunOptions{nullptr}, inputs.data(), values.data(),
                                 values.size(), outputs.data(), outputs.size());
  } catch (const Ort::Exception& e) {
    throw Error(ErrorCode::kRuntime, "verify",
                "ONNX Runtime failed while running the model: " + reason_text(e),
                "run the float model with the same sample to see whether it accepts it");
  }
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < results.size(); ++i)
    tensors.push_back(as_tensor(std::move(results[i]), impl_->outputs[i]));
  return tensors;
}

}  // namespace bitsweep::simulate
