#include "simulate/ort_values.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "bitsweep/error.h"

namespace bitsweep::simulate {

const Ort::MemoryInfo& cpu_memory() {
  static const Ort::MemoryInfo memory =
      Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  return memory;
}

Ort::Value as_value(const Tensor& tensor) {
  static const std::int64_t nothing = 0;  // a zero-size tensor still needs an address
  const void* data = tensor.data() != nullptr ? tensor.data() : &nothing;
  return Ort::Value::CreateTensor(cpu_memory(), const_cast<void*>(data), tensor.size_bytes(),
                                  tensor.shape().data(), tensor.shape().size(),
                                  static_cast<ONNXTensorElementDataType>(tensor.type()));
}

Tensor as_tensor(Ort::Value value, const std::string& name) {
  if (!value.IsTensor()) {
    throw Error(ErrorCode::kInvalidModel, "simulate", "\"" + name + "\" is not a tensor",
                "cut sequence, map and optional outputs off the model");
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
