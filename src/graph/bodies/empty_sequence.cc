#include "graph/bodies/empty_sequence.h"

#include "graph/attributes.h"
#include "onnx-ml.pb.h"

namespace bitsweep::graph {
namespace {

constexpr std::int64_t kIrVersion = 6;
constexpr std::int64_t kOpset = 11;  // the first with SequenceEmpty

}  // namespace

std::string empty_sequence_model(DataType type) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.add_opset_import()->set_version(kOpset);
  onnx::GraphProto* graph = model.mutable_graph();
  graph->set_name("empty sequence");
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type("SequenceEmpty");
  node->add_output(kEmptySequenceOutput);
  set_int(node, "dtype", static_cast<std::int64_t>(type));
  onnx::ValueInfoProto* output = graph->add_output();
  output->set_name(kEmptySequenceOutput);
  output->mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(static_cast<int>(type));
  return model.SerializeAsString();
}

}  // namespace bitsweep::graph
