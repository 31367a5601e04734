#include "graph/raise_opset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "bitsweep/error.h"

namespace bitsweep::graph {
namespace {

onnx::ModelProto model_of(const char* type, std::int64_t opset) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(opset);
  onnx::NodeProto* node = model.mutable_graph()->add_node();
  node->set_op_type(type);
  node->set_name("the node");
  node->add_input("x");
  node->add_output("y");
  return model;
}

TEST(RaiseOpset, MovesTheAxesOfReductionsToAnInput) {
  onnx::ModelProto model = model_of("ReduceMean", 17);
  onnx::AttributeProto* axes = model.mutable_graph()->mutable_node(0)->add_attribute();
  axes->set_name("axes");
  axes->add_ints(-1);
  raise_opset(model, 21);
  const onnx::NodeProto& node = model.graph().node(0);
  EXPECT_EQ(node.attribute_size(), 0);
  ASSERT_EQ(node.input_size(), 2);
  EXPECT_EQ(model.graph().initializer(0).name(), node.input(1));
  EXPECT_EQ(model.graph().initializer(0).int64_data(0), -1);
  EXPECT_EQ(model.opset_import(0).version(), 21);
  EXPECT_EQ(model.ir_version(), 10);
}

TEST(RaiseOpset, CountsTheOutputsOfSplit) {
  onnx::ModelProto model = model_of("Split", 13);
  model.mutable_graph()->mutable_node(0)->add_output("z");
  raise_opset(model, 18);
  EXPECT_EQ(model.graph().node(0).attribute(0).name(), "num_outputs");
  EXPECT_EQ(model.graph().node(0).attribute(0).i(), 2);
}

TEST(RaiseOpset, RefusesWhatItCannotProveAndNamesTheNode) {
  onnx::ModelProto model = model_of("GroupNormalization", 18);
  try {
    raise_opset(model, 21);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("\"the node\" (GroupNormalization)"));
  }
  onnx::ModelProto old = model_of("Softmax", 11);  // along axis 1 and all behind it
  EXPECT_THROW(raise_opset(old, 13), Error);
  onnx::AttributeProto* axis = old.mutable_graph()->mutable_node(0)->add_attribute();
  axis->set_name("axis");
  axis->set_i(-1);
  EXPECT_NO_THROW(raise_opset(old, 13));
  onnx::ModelProto older = model_of("Conv", 10);
  EXPECT_THROW(raise_opset(older, 13), Error);
}

TEST(RaiseOpset, MovesAxesAndLengthsOfOpset11ToInputs) {
  for (const auto& [type, key] : {std::pair{"Unsqueeze", "axes"}, std::pair{"Squeeze", "axes"},
                                  std::pair{"ReduceSum", "axes"}, std::pair{"Split", "split"}}) {
    onnx::ModelProto model = model_of(type, 11);
    onnx::AttributeProto* values = model.mutable_graph()->mutable_node(0)->add_attribute();
    values->set_name(key);
    values->add_ints(2);
    raise_opset(model, 21);
    const onnx::NodeProto& node = model.graph().node(0);
    EXPECT_EQ(node.attribute_size(), 0) << type;
    ASSERT_EQ(node.input_size(), 2) << type;
    EXPECT_EQ(model.graph().initializer(0).int64_data(0), 2) << type;
  }
}

TEST(RaiseOpset, LeavesModelsThatAreNewEnoughAlone) {
  onnx::ModelProto model = model_of("GroupNormalization", 21);
  const std::string before = model.SerializeAsString();
  raise_opset(model, 13);
  EXPECT_EQ(model.SerializeAsString(), before);
}

}  // namespace
}  // namespace bitsweep::graph
