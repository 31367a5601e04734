#include "simulate/quantizer_op.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/tensor.h"
#include "graph/mapped_file.h"
#include "graph/subgraph.h"
#include "simulate/divisor_watch.h"
#include "simulate/run_state.h"

namespace bitsweep::simulate {
namespace {

// Smaller pieces cost more in fork and join than they save.
constexpr std::int64_t kElementsPerTask = 32768;

struct QuantizeTask {
  const FakeQuantPlan* plan;
  DataType type;
  const void* in;
  void* out;
  const Shape* shape;
  std::int64_t size;
  std::int64_t num_tasks;
};

void run_task(void* data, std::size_t index) {
  const auto& task = *static_cast<const QuantizeTask*>(data);
  const std::int64_t i = static_cast<std::int64_t>(index);
  task.plan->apply_typed(task.type, task.in, task.out, *task.shape, task.size * i / task.num_tasks,
                         task.size * (i + 1) / task.num_tasks);
}

class FakeQuantKernel {
 public:
  explicit FakeQuantKernel(const OrtKernelInfo* info)
      : index_(static_cast<std::size_t>(
            Ort::ConstKernelInfo(info).GetAttribute<std::int64_t>("index"))) {}

  OrtStatusPtr ComputeV2(OrtKernelContext* raw) {
    try {
      compute(Ort::KernelContext(raw));
      return nullptr;
    } catch (const std::exception& e) {
      return Ort::GetApi().CreateStatus(ORT_FAIL, e.what());
    }
  }

 private:
  void compute(const Ort::KernelContext& context) const {
    const Ort::ConstValue input = context.GetInput(0);
    const auto info = input.GetTensorTypeAndShapeInfo();
    const Shape shape = info.GetShape();
    const auto type = static_cast<DataType>(info.GetElementType());
    const std::int64_t size = num_elements(shape);
    const void* in = input.GetTensorRawData();
    void* out = context.GetOutput(0, shape).GetTensorMutableRawData();

    const std::int64_t address = *context.GetInput(1).GetTensorData<std::int64_t>();
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a tensor can carry an address only as a number
    const auto* state = reinterpret_cast<const RunState*>(address);
    const SiteAction& action = state->sites[index_];
    if (size == 0) return;
    if (action.mode == SiteAction::Mode::kQuantize) {
      QuantizeTask task{action.plan.get(),
                        type,
                        in,
                        out,
                        &shape,
                        size,
                        std::max<std::int64_t>(1, size / kElementsPerTask)};
      if (task.num_tasks == 1) {
        run_task(&task, 0);
      } else {
        context.ParallelFor(run_task, static_cast<std::size_t>(task.num_tasks), 0, &task);
      }
      if (action.input_is_stored) graph::give_back_pages(Tensor::borrow(type, shape, in, nullptr));
      return;
    }
    const std::size_t bytes = static_cast<std::size_t>(size) * data_type_size(type);
    if (action.mode == SiteAction::Mode::kObserve) {
      std::optional<ObserverOrder::Turn> turn;
      if (state->order != nullptr) turn.emplace(*state->order, *action.observer, state->sample);
      const Tensor values = Tensor::borrow(type, shape, in, nullptr);
      action.observer->observe(values);
      const auto site = static_cast<int>(index_);
      if (state->divisors != nullptr && state->divisors->watches(site))
        state->divisors->see(site, values);
    }
    if (out != in) std::memcpy(out, in, bytes);
  }

  std::size_t index_;
};

// The output is like the input. Without this the runtime knows no shapes behind a quantizer, which
// some operators need (Scan, those that it expands into others), and so do some fusions.
void infer_output(OrtShapeInferContext* context) {
  const OrtApi& api = Ort::GetApi();
  OrtTensorTypeAndShapeInfo* of_input = nullptr;
  Ort::ThrowOnError(api.ShapeInferContext_GetInputTypeShape(context, 0, &of_input));
  const Ort::ConstTensorTypeAndShapeInfo input(of_input);
  const Shape shape = input.GetShape();
  if (shape.empty()) return;  // a scalar, or an unknown rank
  std::vector<const char*> names(shape.size());
  input.GetSymbolicDimensions(names.data(), names.size());
  // A dimension that is not known needs a name, one for each: two that share it would be equal.
  static std::atomic<std::int64_t> next_name = 0;
  std::vector<std::string> made(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 0 || names[i][0] != '\0') continue;
    made[i] = "bitsweep.dim" + std::to_string(next_name++);
    names[i] = made[i].c_str();
  }
  OrtTensorTypeAndShapeInfo* of_output = nullptr;
  Ort::ThrowOnError(api.CreateTensorTypeAndShapeInfo(&of_output));
  const Ort::TensorTypeAndShapeInfo output(of_output);
  Ort::ThrowOnError(api.SetTensorElementType(of_output, input.GetElementType()));
  Ort::ThrowOnError(api.SetDimensions(of_output, shape.data(), shape.size()));
  Ort::ThrowOnError(api.SetSymbolicDimensions(of_output, names.data(), names.size()));
  Ort::ThrowOnError(api.ShapeInferContext_SetOutputTypeShape(context, 0, of_output));
}

template <bool kInPlace>
struct FakeQuantOp : Ort::CustomOpBase<FakeQuantOp<kInPlace>, FakeQuantKernel, true> {
  FakeQuantOp() {
    OrtCustomOp::InferOutputShapeFn = [](const OrtCustomOp*,
                                         OrtShapeInferContext* context) -> OrtStatusPtr {
      try {
        infer_output(context);
        return nullptr;
      } catch (const std::exception& e) {
        return Ort::GetApi().CreateStatus(ORT_FAIL, e.what());
      }
    };
    if constexpr (kInPlace) {
      OrtCustomOp::GetAliasMap = [](int** inputs, int** outputs) -> std::size_t {
        static int input = 0;
        static int output = 0;
        *inputs = &input;
        *outputs = &output;
        return 1;
      };
      OrtCustomOp::ReleaseAliasMap = [](int*, int*) {};
    }
  }
  OrtStatusPtr CreateKernelV2(const OrtApi&, const OrtKernelInfo* info, void** kernel) const {
    try {
      *kernel = new FakeQuantKernel(info);
      return nullptr;
    } catch (const std::exception& e) {
      return Ort::GetApi().CreateStatus(ORT_FAIL, e.what());
    }
  }
  const char* GetName() const { return kInPlace ? "FakeQuantInPlace" : "FakeQuant"; }
  const char* GetExecutionProviderType() const { return "CPUExecutionProvider"; }
  std::size_t GetInputTypeCount() const { return 2; }
  ONNXTensorElementDataType GetInputType(std::size_t i) const {
    return i == 0 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  }
  std::size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(std::size_t) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  }
};

}  // namespace

OrtCustomOpDomain* quantizer_op_domain() {
  static OrtCustomOpDomain* domain = [] {
    static FakeQuantOp<false> plain;
    static FakeQuantOp<true> in_place;
    Ort::CustomOpDomain d(graph::kQuantizerDomain);
    d.Add(&plain);
    d.Add(&in_place);
    return d.release();  // lives as long as the process, like the environment
  }();
  return domain;
}

}  // namespace bitsweep::simulate
