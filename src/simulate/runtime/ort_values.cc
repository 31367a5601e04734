#include "simulate/runtime/ort_values.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/sequence.h"
#include "graph/bodies/empty_sequence.h"
#include "simulate/runtime/ort_library.h"

namespace bitsweep::simulate {

namespace {

Tensor row_of(const Tensor& tensor, std::int64_t index) {
  Shape shape(tensor.shape().begin() + 1, tensor.shape().end());
  const std::int64_t bytes =
      num_elements(shape) * static_cast<std::int64_t>(data_type_size(tensor.type()));
  return Tensor::borrow(tensor.type(), std::move(shape),
                        static_cast<const std::byte*>(tensor.data()) + index * bytes, nullptr);
}

// CreateSequence refuses to make one, but an operator may.
Ort::Value empty_sequence(DataType element) {
  const std::string model = graph::empty_sequence_model(element);
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(1);
  options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_FATAL);
  Ort::Session session(ort_environment(1), model.data(), model.size(), options);
  std::vector<Ort::Value> outputs =
      session.Run(Ort::RunOptions{nullptr}, nullptr, nullptr, 0, &graph::kEmptySequenceOutput, 1);
  return std::move(outputs.front());
}

}  // namespace

const Ort::MemoryInfo& cpu_memory() {
  static const Ort::MemoryInfo memory =
      Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  return memory;
}

Ort::Value as_value(const Tensor& tensor) {
  if (!tensor.defined()) {
    throw Error(ErrorCode::kInvalidData, "sample",
                "a list of arrays that differ in shape was given where one tensor is wanted",
                "pass one array");
  }
  static const std::int64_t nothing = 0;  // a zero-size tensor still needs an address
  const void* data = tensor.data() != nullptr ? tensor.data() : &nothing;
  return Ort::Value::CreateTensor(cpu_memory(), const_cast<void*>(data), tensor.size_bytes(),
                                  tensor.shape().data(), tensor.shape().size(),
                                  static_cast<ONNXTensorElementDataType>(tensor.type()));
}

InputKind input_kind(const Ort::TypeInfo& type) {
  if (type.GetONNXType() == ONNX_TYPE_OPTIONAL)
    return input_kind(type.GetOptionalTypeInfo().GetOptionalElementType());
  if (type.GetONNXType() != ONNX_TYPE_SEQUENCE) return {};
  const Ort::TypeInfo element = type.GetSequenceTypeInfo().GetSequenceElementType();
  if (element.GetONNXType() != ONNX_TYPE_TENSOR) return {.is_sequence = true};
  return {
      .is_sequence = true,
      .element = static_cast<DataType>(element.GetTensorTypeAndShapeInfo().GetElementType()),
  };
}

Ort::Value as_input(const Tensor& value, const InputKind& kind) {
  if (!kind.is_sequence) return as_value(value);
  std::vector<Ort::Value> elements;
  for (const Tensor& element : elements_of(value)) elements.push_back(as_value(element));
  if (!is_sequence(value) && !value.shape().empty()) {
    for (std::int64_t i = 0; i < value.shape()[0]; ++i)
      elements.push_back(as_value(row_of(value, i)));
  }
  return elements.empty() ? empty_sequence(kind.element) : Ort::Value::CreateSequence(elements);
}

Tensor as_tensor(Ort::Value value, const std::string& name) {
  if (!value.HasValue()) return {};
  if (value.GetTypeInfo().GetONNXType() == ONNX_TYPE_SEQUENCE) {
    Ort::AllocatorWithDefaultOptions allocator;
    std::vector<Tensor> elements;
    for (std::size_t i = 0; i < value.GetCount(); ++i)
      elements.push_back(as_tensor(value.GetValue(static_cast<int>(i), allocator), name));
    return make_sequence(std::move(elements));
  }
  if (!value.IsTensor()) {
    throw Error(ErrorCode::kInvalidModel, "simulate", "\"" + name + "\" is a map",
                "cut outputs that are maps off the model");
  }
  const auto info = value.GetTensorTypeAndShapeInfo();
  const auto type = static_cast<DataType>(info.GetElementType());
  if (type == DataType::kString) {
    throw Error(ErrorCode::kInvalidModel, "simulate", "\"" + name + "\" holds strings",
                "cut string outputs off the model");
  }
  Shape shape = info.GetShape();
  const void* data = value.GetTensorRawData();
  auto owner = std::make_shared<Ort::Value>(std::move(value));
  return Tensor::borrow(type, std::move(shape), data, std::move(owner));
}

std::string reason_text(const Ort::Exception& e) {
  std::string text = e.what();
  if (const std::size_t end = text.find('\n'); end != std::string::npos) text.resize(end);
  return text;
}

}  // namespace bitsweep::simulate
