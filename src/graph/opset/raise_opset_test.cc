#include "graph/opset/raise_opset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/error.h"
#include "graph/file/tensor_proto.h"
#include "graph/opset/restore_opset.h"

namespace bitsweep::graph {
namespace {

onnx::ModelProto model_of(const char* type, std::int64_t opset) {
  onnx::ModelProto model;
  model.set_ir_version(opset > 20 ? 10 : 8);
  model.add_opset_import()->set_version(opset);
  onnx::NodeProto* node = model.mutable_graph()->add_node();
  node->set_op_type(type);
  node->set_name("the node");
  node->add_input("x");
  node->add_output("y");
  return model;
}

std::int64_t first_integer(const onnx::ModelProto& model) {
  const Tensor value = read_tensor(model.graph().initializer(0), {}, nullptr);
  return static_cast<const std::int64_t*>(value.data())[0];
}

void raise(onnx::ModelProto& model, std::int64_t target) {
  raise_opset(model, target, [](const std::string&) { return nullptr; });
}

TEST(RaiseOpset, MovesTheAxesOfReductionsToAnInput) {
  onnx::ModelProto model = model_of("ReduceMean", 17);
  onnx::AttributeProto* axes = model.mutable_graph()->mutable_node(0)->add_attribute();
  axes->set_name("axes");
  axes->add_ints(-1);
  raise(model, 21);
  const onnx::NodeProto& node = model.graph().node(0);
  EXPECT_EQ(node.attribute_size(), 0);
  ASSERT_EQ(node.input_size(), 2);
  EXPECT_EQ(model.graph().initializer(0).name(), node.input(1));
  EXPECT_EQ(first_integer(model), -1);
  EXPECT_EQ(model.opset_import(0).version(), 21);
  EXPECT_EQ(model.ir_version(), 10);
}

TEST(RaiseOpset, CountsTheOutputsOfSplit) {
  onnx::ModelProto model = model_of("Split", 13);
  model.mutable_graph()->mutable_node(0)->add_output("z");
  raise(model, 18);
  EXPECT_EQ(model.graph().node(0).attribute(0).name(), "num_outputs");
  EXPECT_EQ(model.graph().node(0).attribute(0).i(), 2);
}

TEST(RaiseOpset, RefusesWhatItCannotProveAndNamesTheNode) {
  onnx::ModelProto model = model_of("GroupNormalization", 18);
  try {
    raise(model, 21);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("\"the node\" (GroupNormalization)"));
  }
  onnx::ModelProto ancient = model_of("Conv", 6);
  EXPECT_THROW(raise(ancient, 13), Error);
}

TEST(RaiseOpset, KeepsASoftmaxOverSeveralAxes) {
  onnx::ModelProto model = model_of("Softmax", 11);  // along axis 1 and all behind it
  raise(model, 13);
  std::vector<std::string> types;
  for (const onnx::NodeProto& node : model.graph().node()) types.push_back(node.op_type());
  EXPECT_THAT(types, ::testing::ElementsAre("Shape", "Flatten", "Softmax", "Reshape"));
  EXPECT_EQ(model.graph().node(1).attribute(0).i(), 1);
  EXPECT_EQ(model.graph().node(2).attribute(0).i(), -1);
  EXPECT_EQ(model.graph().node(3).output(0), "y");
}

TEST(RaiseOpset, LeavesASoftmaxAlongTheLastAxisAsItIs) {
  onnx::ModelProto model = model_of("Softmax", 11);
  TensorInfo x;
  x.shape = {2, 3};
  raise_opset(model, 13, [&](const std::string&) { return &x; });
  ASSERT_EQ(model.graph().node_size(), 1);
  EXPECT_EQ(model.graph().node(0).attribute(0).i(), -1);
}

TEST(RaiseOpset, TurnsAnUpsampleIntoTheResizeThatDoesTheSame) {
  onnx::ModelProto model = model_of("Upsample", 7);
  onnx::AttributeProto* scales = model.mutable_graph()->mutable_node(0)->add_attribute();
  scales->set_name("scales");
  for (const float scale : {1.0F, 1.0F, 2.0F, 2.0F}) scales->add_floats(scale);
  onnx::ModelProto shrinking = model;
  raise(model, 13);
  const onnx::NodeProto& node = model.graph().node(0);
  EXPECT_EQ(node.op_type(), "Resize");
  ASSERT_EQ(node.input_size(), 3);
  std::map<std::string, std::string> texts;
  for (const onnx::AttributeProto& a : node.attribute()) texts[a.name()] = a.s();
  EXPECT_EQ(texts["coordinate_transformation_mode"], "asymmetric");
  EXPECT_EQ(texts["nearest_mode"], "floor");
  shrinking.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_floats(3, 0.5F);
  EXPECT_THROW(raise(shrinking, 13), Error);
}

TEST(RaiseOpset, MovesLimitsAndLengthsOfOldOpsetsToInputs) {
  onnx::ModelProto clip = model_of("Clip", 9);
  onnx::AttributeProto* max = clip.mutable_graph()->mutable_node(0)->add_attribute();
  max->set_name("max");
  max->set_f(6.0F);
  raise(clip, 13);
  ASSERT_EQ(clip.graph().node(0).input_size(), 3);
  EXPECT_EQ(clip.graph().node(0).input(1), "");
  onnx::ModelProto slice = model_of("Slice", 9);
  for (const char* key : {"starts", "ends"}) {
    onnx::AttributeProto* values = slice.mutable_graph()->mutable_node(0)->add_attribute();
    values->set_name(key);
    values->add_ints(1);
  }
  raise(slice, 13);
  EXPECT_EQ(slice.graph().node(0).input_size(), 3);
  EXPECT_EQ(slice.graph().initializer_size(), 2);
}

TEST(RaiseOpset, MovesAxesAndLengthsOfOpset11ToInputs) {
  for (const auto& [type, key] : {std::pair{"Unsqueeze", "axes"}, std::pair{"Squeeze", "axes"},
                                  std::pair{"ReduceSum", "axes"}, std::pair{"Split", "split"}}) {
    onnx::ModelProto model = model_of(type, 11);
    onnx::AttributeProto* values = model.mutable_graph()->mutable_node(0)->add_attribute();
    values->set_name(key);
    values->add_ints(2);
    raise(model, 21);
    const onnx::NodeProto& node = model.graph().node(0);
    EXPECT_EQ(node.attribute_size(), 0) << type;
    ASSERT_EQ(node.input_size(), 2) << type;
    EXPECT_EQ(first_integer(model), 2) << type;
  }
}

TEST(RaiseOpset, LeavesModelsThatAreNewEnoughAlone) {
  onnx::ModelProto model = model_of("GroupNormalization", 21);
  const std::string before = model.SerializeAsString();
  raise(model, 13);
  EXPECT_EQ(model.SerializeAsString(), before);
}

onnx::ModelProto raised_reduction() {
  onnx::ModelProto model = model_of("ReduceMean", 11);
  onnx::AttributeProto* axes = model.mutable_graph()->mutable_node(0)->add_attribute();
  axes->set_name("axes");
  axes->add_ints(2);
  note_source_opset(model, 11);
  raise(model, 21);
  return model;
}

TEST(RestoreOpset, PutsAxesBackIntoTheNode) {
  onnx::ModelProto model = raised_reduction();
  restore_opset(model, [&](const std::string&) {
    return read_tensor(model.graph().initializer(0), {}, nullptr);
  });
  EXPECT_EQ(model.opset_import(0).version(), 13);
  ASSERT_EQ(model.graph().node(0).input_size(), 1);
  EXPECT_EQ(model.graph().node(0).attribute(0).ints(0), 2);
  EXPECT_EQ(model.graph().initializer_size(), 0);
  EXPECT_EQ(model.metadata_props_size(), 0);
}

TEST(RestoreOpset, StaysWhereTheAxesAreNoLongerConstant) {
  onnx::ModelProto model = raised_reduction();
  restore_opset(model, [](const std::string&) { return Tensor(); });
  EXPECT_EQ(model.opset_import(0).version(), 18);
  EXPECT_EQ(model.graph().node(0).input_size(), 2);
  EXPECT_EQ(model.graph().initializer_size(), 1);
}

TEST(RestoreOpset, LeavesModelsOfOthersAlone) {
  onnx::ModelProto model = model_of("AveragePool", 21);
  restore_opset(model, [](const std::string&) { return Tensor(); });
  EXPECT_EQ(model.opset_import(0).version(), 21);
}

}  // namespace
}  // namespace bitsweep::graph
