#include "simulate/runtime/quantizer_op.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/quantizer.h"
#include "bitsweep/tensor.h"
#include "graph/file/mapped_file.h"
#include "graph/pieces/subgraph.h"
#include "quant/elementwise_program.h"
#include "quant/program_table.h"
#include "simulate/observe/divisor_watch.h"
#include "simulate/runtime/run_state.h"

namespace bitsweep::simulate {
namespace {

// Elements that one thread quantizes in two microseconds, which is what handing work to a waiting
// thread costs: smaller pieces cost more than they save.
constexpr std::int64_t kElementsPerTask = 16384;

void check(OrtStatus* status) {
  if (status != nullptr) Ort::ThrowOnError(status);
}

// One call of a quantizer node: its tensor and the state of the run. Through the plain functions of
// the runtime, since the usual wrappers allocate for each question.
struct Call {
  explicit Call(OrtKernelContext* raw) : context(raw) {
    const OrtApi& api = Ort::GetApi();
    const OrtValue* input = nullptr;
    check(api.KernelContext_GetInput(context, 0, &input));
    OrtTensorTypeAndShapeInfo* info = nullptr;
    check(api.GetTensorTypeAndShape(input, &info));
    const Ort::TensorTypeAndShapeInfo owner(info);
    std::size_t rank = 0;
    check(api.GetDimensionsCount(info, &rank));
    shape.resize(rank);
    check(api.GetDimensions(info, shape.data(), rank));
    ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    check(api.GetTensorElementType(info, &element));
    type = static_cast<DataType>(element);
    size = num_elements(shape);
    void* data = nullptr;  // the runtime has no function that gives a pointer to const
    check(api.GetTensorMutableData(const_cast<OrtValue*>(input), &data));
    in = data;
    OrtValue* output = nullptr;
    check(api.KernelContext_GetOutput(context, 0, shape.data(), rank, &output));
    check(api.GetTensorMutableData(output, &out));
    const OrtValue* address = nullptr;
    check(api.KernelContext_GetInput(context, 1, &address));
    check(api.GetTensorMutableData(const_cast<OrtValue*>(address), &data));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a tensor can carry an address only as a number
    state = reinterpret_cast<const RunState*>(*static_cast<const std::int64_t*>(data));
  }

  Tensor input() const { return Tensor::borrow(type, shape, in, nullptr); }

  const SiteAction& action(int site) const { return state->sites[static_cast<std::size_t>(site)]; }

  /// Calls f(begin, end) for pieces of the tensor, on the threads of the session. `passes`: how
  /// often as much work as one quantizer an element is.
  template <typename F>
  void for_each_piece(const F& f, std::int64_t passes = 1) const {
    if (size == 0) return;
    struct Task {
      const F* f;
      std::int64_t size;
      std::int64_t count;
    } task{&f, size, std::max<std::int64_t>(1, size * passes / kElementsPerTask)};
    if (task.count == 1) {
      f(0, size);
      return;
    }
    const auto run = [](void* data, std::size_t index) {
      const auto& t = *static_cast<const Task*>(data);
      const auto i = static_cast<std::int64_t>(index);
      (*t.f)(t.size* i / t.count, t.size * (i + 1) / t.count);
    };
    check(Ort::GetApi().KernelContext_ParallelFor(context, run,
                                                  static_cast<std::size_t>(task.count), 0, &task));
  }

  OrtKernelContext* context;
  Shape shape;
  DataType type = DataType::kUndefined;
  std::int64_t size = 0;
  const void* in = nullptr;
  void* out = nullptr;
  const RunState* state = nullptr;
};

class FakeQuantKernel {
 public:
  explicit FakeQuantKernel(const Ort::ConstKernelInfo& info)
      : site_(static_cast<int>(info.GetAttribute<std::int64_t>("index"))) {}

  void compute(const Call& call) const {
    const SiteAction& action = call.action(site_);
    if (action.mode == SiteAction::Mode::kQuantize) {
      call.for_each_piece([&](std::int64_t begin, std::int64_t end) {
        action.plan->apply_typed(call.type, call.in, call.out, call.shape, begin, end);
      });
      if (action.input_is_stored) graph::give_back_pages(call.input());
      return;
    }
    if (call.size == 0) return;
    if (action.mode == SiteAction::Mode::kObserve) {
      std::optional<ObserverOrder::Turn> turn;
      if (call.state->order != nullptr)
        turn.emplace(*call.state->order, *action.observer, call.state->sample);
      action.observer->observe(call.input());
      DivisorWatch* divisors = call.state->divisors;
      if (divisors != nullptr && divisors->watches(site_)) divisors->see(site_, call.input());
    }
    const std::size_t bytes = static_cast<std::size_t>(call.size) * data_type_size(call.type);
    if (call.out != call.in) std::memcpy(call.out, call.in, bytes);
  }

 private:
  int site_;
};

class ElementwiseKernel {
 public:
  explicit ElementwiseKernel(const Ort::ConstKernelInfo& info)
      : program_(ElementwiseProgram::decode(info.GetAttributes<std::int64_t>("steps"),
                                            info.GetAttributes<float>("constants"))),
        num_quantizers_(std::ranges::count_if(program_.steps(),
                                              [](const auto& step) { return step.quantizes; })) {}

  void compute(const Call& call) const {
    std::array<const FakeQuantPlan*, ElementwiseProgram::kMaxSteps> plans = {};
    const std::vector<ElementwiseProgram::Step>& steps = program_.steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].quantizes) plans[i] = call.action(steps[i].site).plan.get();
    }
    const auto* in = static_cast<const float*>(call.in);
    auto* out = static_cast<float*>(call.out);
    if (const auto table = ProgramTable::make(program_, plans, call.size)) {
      constexpr std::int64_t kPasses = 2;
      call.for_each_piece(
          [&](std::int64_t begin, std::int64_t end) { table->run(in, out, begin, end); }, kPasses);
      return;
    }
    call.for_each_piece(
        [&](std::int64_t begin, std::int64_t end) {
          program_.run(in, out, call.shape, begin, end, plans);
        },
        num_quantizers_);
  }

 private:
  ElementwiseProgram program_;
  std::int64_t num_quantizers_;
};

// What the runtime calls.
template <typename Kernel>
class RuntimeKernel {
 public:
  explicit RuntimeKernel(const OrtKernelInfo* info) : kernel_(Ort::ConstKernelInfo(info)) {}

  OrtStatusPtr ComputeV2(OrtKernelContext* context) {
    try {
      kernel_.compute(Call(context));
      return nullptr;
    } catch (const std::exception& e) {
      return Ort::GetApi().CreateStatus(ORT_FAIL, e.what());
    }
  }

 private:
  Kernel kernel_;
};

// To this function of the runtime a scalar and an unknown rank look alike; so who makes the node
// tells.
bool is_scalar(const OrtShapeInferContext* context) {
  const OrtOpAttr* attribute = nullptr;
  const Ort::Status status(
      Ort::GetApi().ShapeInferContext_GetAttribute(context, graph::kScalarAttribute, &attribute));
  return status.IsOK() && attribute != nullptr;
}

// The output is like the input. Without this the runtime knows no shapes behind a quantizer, which
// some operators need (Scan, those that it expands into others), and so do some fusions.
void infer_output(OrtShapeInferContext* context) {
  const OrtApi& api = Ort::GetApi();
  OrtTensorTypeAndShapeInfo* of_input = nullptr;
  Ort::ThrowOnError(api.ShapeInferContext_GetInputTypeShape(context, 0, &of_input));
  const Ort::ConstTensorTypeAndShapeInfo input(of_input);
  const Shape shape = input.GetShape();
  if (shape.empty() && !is_scalar(context)) return;
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

template <typename Kernel, bool kInPlace>
struct QuantizerOp : Ort::CustomOpBase<QuantizerOp<Kernel, kInPlace>, RuntimeKernel<Kernel>, true> {
  explicit QuantizerOp(const char* op_type) : name(op_type) {
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
      *kernel = new RuntimeKernel<Kernel>(info);
      return nullptr;
    } catch (const std::exception& e) {
      return Ort::GetApi().CreateStatus(ORT_FAIL, e.what());
    }
  }
  const char* GetName() const { return name; }
  const char* GetExecutionProviderType() const { return "CPUExecutionProvider"; }
  std::size_t GetInputTypeCount() const { return 2; }
  ONNXTensorElementDataType GetInputType(std::size_t i) const {
    return i == 0 ? ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  }
  std::size_t GetOutputTypeCount() const { return 1; }
  ONNXTensorElementDataType GetOutputType(std::size_t) const {
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  }

  const char* name;
};

}  // namespace

OrtCustomOpDomain* quantizer_op_domain() {
  static OrtCustomOpDomain* domain = [] {
    static const QuantizerOp<FakeQuantKernel, false> fake_quant("FakeQuant");
    static const QuantizerOp<FakeQuantKernel, true> fake_quant_in_place("FakeQuantInPlace");
    static const QuantizerOp<ElementwiseKernel, false> elementwise("Elementwise");
    static const QuantizerOp<ElementwiseKernel, true> elementwise_in_place("ElementwiseInPlace");
    Ort::CustomOpDomain d(graph::kQuantizerDomain);
    for (const OrtCustomOp* op : std::initializer_list<const OrtCustomOp*>{
             &fake_quant, &fake_quant_in_place, &elementwise, &elementwise_in_place})
      d.Add(op);
    return d.release();  // lives as long as the process, like the environment
  }();
  return domain;
}

}  // namespace bitsweep::simulate
