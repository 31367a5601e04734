// A custom operator for tests: Triple of domain "test.ops" computes y = 3 x on float32.
#include <stddef.h>

#include "onnxruntime_c_api.h"

static const OrtApi* api;

static const char* name(const OrtCustomOp* op) {
  (void)op;
  return "Triple";
}

static const char* provider(const OrtCustomOp* op) {
  (void)op;
  return NULL;
}

static size_t one(const OrtCustomOp* op) {
  (void)op;
  return 1;
}

static ONNXTensorElementDataType element(const OrtCustomOp* op, size_t index) {
  (void)op;
  (void)index;
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}

static OrtCustomOpInputOutputCharacteristic required(const OrtCustomOp* op, size_t index) {
  (void)op;
  (void)index;
  return INPUT_OUTPUT_REQUIRED;
}

static OrtMemType memory(const OrtCustomOp* op, size_t index) {
  (void)op;
  (void)index;
  return OrtMemTypeDefault;
}

static OrtStatus* create(const OrtCustomOp* op, const OrtApi* runtime, const OrtKernelInfo* info,
                         void** kernel) {
  (void)op;
  (void)info;
  *kernel = (void*)runtime;
  return NULL;
}

static void destroy(void* kernel) { (void)kernel; }

static OrtStatus* compute(void* kernel, OrtKernelContext* context) {
  const OrtApi* runtime = kernel;
  const OrtValue* input = NULL;
  OrtTensorTypeAndShapeInfo* info = NULL;
  size_t rank = 0;
  size_t count = 0;
  int64_t shape[8] = {0};
  OrtStatus* status = runtime->KernelContext_GetInput(context, 0, &input);
  if (status == NULL) status = runtime->GetTensorTypeAndShape(input, &info);
  if (status == NULL) status = runtime->GetDimensionsCount(info, &rank);
  if (status == NULL && rank > 8) status = runtime->CreateStatus(ORT_FAIL, "rank above 8");
  if (status == NULL) status = runtime->GetDimensions(info, shape, rank);
  if (status == NULL) status = runtime->GetTensorShapeElementCount(info, &count);
  if (info != NULL) runtime->ReleaseTensorTypeAndShapeInfo(info);
  OrtValue* output = NULL;
  if (status == NULL) status = runtime->KernelContext_GetOutput(context, 0, shape, rank, &output);
  void* x = NULL;
  void* y = NULL;
  if (status == NULL) status = runtime->GetTensorMutableData((OrtValue*)input, &x);
  if (status == NULL) status = runtime->GetTensorMutableData(output, &y);
  if (status != NULL) return status;
  for (size_t i = 0; i < count; ++i) ((float*)y)[i] = 3.0F * ((const float*)x)[i];
  return NULL;
}

OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  static OrtCustomOp op;
  api = base->GetApi(ORT_API_VERSION);
  op.version = ORT_API_VERSION;
  op.GetName = name;
  op.GetExecutionProviderType = provider;
  op.GetInputTypeCount = one;
  op.GetOutputTypeCount = one;
  op.GetInputType = element;
  op.GetOutputType = element;
  op.GetInputCharacteristic = required;
  op.GetOutputCharacteristic = required;
  op.GetInputMemoryType = memory;
  op.CreateKernelV2 = create;
  op.KernelComputeV2 = compute;
  op.KernelDestroy = destroy;
  OrtCustomOpDomain* domain = NULL;
  OrtStatus* status = api->CreateCustomOpDomain("test.ops", &domain);
  if (status == NULL) status = api->CustomOpDomain_Add(domain, &op);
  if (status == NULL) status = api->AddCustomOpDomain(options, domain);
  return status;
}
