#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bitsweep/passes.h"
#include "graph/file/model_impl.h"
#include "graph/passes/testing/batch_norms.h"

namespace bitsweep::graph {
namespace {

using testing::add_batch_norm;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ModelBuilder;
using ::testing::Not;
using testing::op_types;
using ::testing::SizeIs;
using testing::values_of;

/// x [-1, 3, 8, 8] -> the nodes of `layer`, which make h with `channels` channels -> batch norm ->
/// y.
ModelBuilder behind(const std::string& layer, std::int64_t channels) {
  ModelBuilder m;
  m.input("x", {-1, 4, 8, 8});
  m.random("w", {4, 4, 3, 3}).random("b", {4});
  m.node(layer);
  add_batch_norm(&m, "bn", "y", "h", channels);
  m.output("y", DataType::kFloat);
  return m;
}

std::string reason(const FoldBatchNormsResult& result) {
  return result.kept.size() == 1 ? result.kept[0].reason : "not exactly one is kept";
}

TEST(FoldBatchNorms, ScalesWeightAndBiasOfTheLayerInFront) {
  ModelBuilder m;
  m.input("x", {-1, 1, 4, 4}).floats("w", {2, 1, 1, 1}, {2, 4}).floats("b", {2}, {1, 3});
  m.node("h = Conv(x, w, b) {name: \"c\"}");
  m.floats("g", {2}, {3, 1})
      .floats("be", {2}, {5, 6})
      .floats("mu", {2}, {0.5, 1})
      .floats("v", {2}, {3.75, 0.75});
  m.node("y = BatchNormalization(h, g, be, mu, v) {name: \"bn\", epsilon: 0.25}");
  m.output("y", DataType::kFloat);
  const FoldBatchNormsResult result = fold_batch_norms(m.model());
  EXPECT_THAT(op_types(result.model), ElementsAre("Conv"));
  EXPECT_THAT(values_of(result.model, "w"), ElementsAre(3, 4));     // scale 1.5 and 1
  EXPECT_THAT(values_of(result.model, "b"), ElementsAre(5.75, 8));  // beta - (mean - b) * scale
  ASSERT_THAT(result.folded, SizeIs(1));
  EXPECT_EQ(result.folded[0].layer, "c");
  EXPECT_EQ(result.folded[0].batch_norm, "bn");
  EXPECT_FALSE(result.folded[0].forward);
  EXPECT_THAT(result.folded[0].gamma, ElementsAre(3, 1));
  EXPECT_THAT(result.folded[0].beta, ElementsAre(5, 6));
  EXPECT_EQ(result.folded[0].layer_output, "y");
}

TEST(FoldBatchNorms, LeavesTheModelGivenAsItIs) {
  const Model model = behind("h = Conv(x, w, b)", 4).model();
  const std::string message = model.impl()->proto.SerializeAsString();
  const std::vector<float> weight = values_of(model, "w");
  const Model folded = fold_batch_norms(model).model;
  EXPECT_NE(values_of(folded, "w"), weight);
  EXPECT_EQ(values_of(model, "w"), weight);
  EXPECT_EQ(model.impl()->proto.SerializeAsString(), message);
}

TEST(FoldBatchNorms, DropsTheParametersOfTheBatchNorm) {
  const Graph graph(fold_batch_norms(behind("h = Conv(x, w, b)", 4).model()).model);
  for (const char* name : {"bn.gamma", "bn.beta", "bn.mean", "bn.var", "h"})
    EXPECT_EQ(graph.find(name), kAbsent) << name;
}

TEST(FoldBatchNorms, MakesABiasOfTheWeightsTypeWhereThereIsNone) {
  const FoldBatchNormsResult result =
      fold_batch_norms(behind("h = Conv(x, w) {name: \"conv\"}", 4).model());
  const Graph graph(result.model);
  const TensorId bias = graph.find("conv.bias");
  ASSERT_NE(bias, kAbsent);
  EXPECT_EQ(graph.tensor(bias).type, DataType::kFloat);
  EXPECT_EQ(graph.node(0).inputs[2], bias);
}

TEST(FoldBatchNorms, ListsANewBiasAsInputInFilesOfOldVersions) {
  ModelBuilder m = behind("h = Conv(x, w)", 4);
  m.ir_version(3).opset(8);
  const Model model = fold_batch_norms(m.model()).model;
  EXPECT_THAT(model.inputs(), SizeIs(1));
  EXPECT_EQ(model.impl()->proto.graph().input_size(), 2);
}

TEST(FoldBatchNorms, TakesTheNameOfAGraphOutputAlong) {
  const Model model = fold_batch_norms(behind("h = Conv(x, w, b)", 4).model()).model;
  const Graph graph(model);
  EXPECT_EQ(graph.tensor(graph.node(0).outputs[0]).name, "y");
}

TEST(FoldBatchNorms, ReadersInsideBodiesFollow) {
  ModelBuilder m;
  m.input("x", {-1, 4, 8, 8}).input("yes", {}, DataType::kBool);
  m.random("w", {4, 4, 3, 3});
  m.node("h = Conv(x, w)");
  add_batch_norm(&m, "bn", "n", "h", 4);
  ModelBuilder body;
  body.node("z = Relu(n)").output("z", DataType::kFloat);
  m.node("y = If(yes)", {{"then_branch", &body}, {"else_branch", &body}});
  m.output("y", DataType::kFloat);
  const FoldBatchNormsResult result = fold_batch_norms(m.model());
  ASSERT_THAT(result.folded, SizeIs(1));
  EXPECT_THAT(op_types(result.model),
              ElementsAre("Conv", "If"));  // building the index fails on a lost tensor
}

TEST(FoldBatchNorms, FoldsAlphaAndBetaOfGemmExactly) {
  ModelBuilder m;
  m.input("x", {-1, 2}).floats("w", {2, 1}, {2, 4}).floats("b", {1}, {3});
  m.node("h = Gemm(x, w, b) {alpha: 0.5, beta: 2.0}");
  m.floats("g", {1}, {3}).floats("be", {1}, {5}).floats("mu", {1}, {4}).floats("v", {1}, {1});
  m.node("y = BatchNormalization(h, g, be, mu, v) {epsilon: 0.0}").output("y", DataType::kFloat);
  const FoldBatchNormsResult result = fold_batch_norms(m.model());
  EXPECT_THAT(values_of(result.model, "w"), ElementsAre(3, 6));
  EXPECT_THAT(values_of(result.model, "b"), ElementsAre(11));  // 5 - (4 - 2 * 3) * 3
  const Graph graph(result.model);
  EXPECT_EQ(graph.node(0).attributes.count("alpha") + graph.node(0).attributes.count("beta"), 0U);
}

TEST(FoldBatchNorms, TakesAnEpsilonOfZeroAsZero) {
  ModelBuilder m;
  m.input("x", {-1, 1}).floats("w", {1, 1}, {1});
  m.node("h = MatMul(x, w)");
  m.floats("g", {1}, {1}).floats("be", {1}, {0}).floats("mu", {1}, {0}).floats("v", {1}, {1e-8F});
  m.node("y = BatchNormalization(h, g, be, mu, v) {epsilon: 0.0}").output("y", DataType::kFloat);
  EXPECT_NEAR(values_of(fold_batch_norms(m.model()).model, "w")[0], 1e4, 1);
}

TEST(FoldBatchNorms, TurnsAMatrixProductIntoGemmButNotOneOfMoreDimensions) {
  ModelBuilder m;
  m.input("x", {-1, 4}).random("w", {4, 4}).node("h = MatMul(x, w)");
  add_batch_norm(&m, "bn", "y", "h", 4);
  m.output("y", DataType::kFloat);
  EXPECT_THAT(op_types(fold_batch_norms(m.model()).model), ElementsAre("Gemm"));
  ModelBuilder deep;
  deep.input("x", {-1, 4, 4}).random("w", {4, 4}).node("h = MatMul(x, w)");
  add_batch_norm(&deep, "bn", "y", "h", 4);
  deep.output("y", DataType::kFloat);
  EXPECT_THAT(reason(fold_batch_norms(deep.model())), HasSubstr("not known to give a matrix"));
}

TEST(FoldBatchNorms, ReadsAWeightThroughTranspose) {
  ModelBuilder m;
  m.input("x", {-1, 2}).floats("wt", {2, 2}, {1, 2, 3, 4});
  m.node("w = Transpose(wt)").node("h = MatMul(x, w)");
  m.floats("g", {2}, {10, 1})
      .floats("be", {2}, {0, 0})
      .floats("mu", {2}, {0, 0})
      .floats("v", {2}, {1, 1});
  m.node("y = BatchNormalization(h, g, be, mu, v) {epsilon: 0.0}").output("y", DataType::kFloat);
  const FoldBatchNormsResult result = fold_batch_norms(m.model());
  ASSERT_THAT(result.folded, SizeIs(1));
  EXPECT_THAT(values_of(result.model, "wt"),
              ElementsAre(10, 3, 20, 4));  // transposed, columns scaled
  const Graph graph(result.model);
  EXPECT_EQ(graph.tensor(graph.node(graph.tensor(graph.find("y")).producer).inputs[1]).name, "wt");
}

TEST(FoldBatchNorms, CountsChannelsOfTransposedConvolutions) {
  ModelBuilder m;
  m.input("x", {-1, 2, 4, 4}).floats("w", {2, 2, 1, 1}, {1, 2, 3, 4});
  m.node("h = ConvTranspose(x, w)");
  m.floats("g", {2}, {10, 1})
      .floats("be", {2}, {0, 0})
      .floats("mu", {2}, {0, 0})
      .floats("v", {2}, {1, 1});
  m.node("y = BatchNormalization(h, g, be, mu, v) {epsilon: 0.0}").output("y", DataType::kFloat);
  EXPECT_THAT(values_of(fold_batch_norms(m.model()).model, "w"), ElementsAre(10, 2, 30, 4));
}

struct KeptCase {
  const char* name;
  ModelBuilder (*build)();
  const char* reason;
};

class KeptBatchNorms : public ::testing::TestWithParam<KeptCase> {};

TEST_P(KeptBatchNorms, SayWhy) {
  const FoldBatchNormsResult result = fold_batch_norms(GetParam().build().model());
  EXPECT_THAT(result.folded, IsEmpty());
  EXPECT_THAT(reason(result), HasSubstr(GetParam().reason));
}

ModelBuilder with_bn_attribute(const std::string& attribute) {
  ModelBuilder m;
  m.input("x", {-1, 4, 8, 8}).random("w", {4, 4, 3, 3}).node("h = Conv(x, w)");
  add_batch_norm(&m, "bn", "y", "h", 4, attribute);
  m.output("y", DataType::kFloat);
  return m;
}

/// x -> batch norm -> h -> the node given -> y.
ModelBuilder in_front(const std::string& layer, const std::string& between = "") {
  ModelBuilder m;
  m.input("x", {-1, 4, 2, 2}).random("w", {4, 4, 1, 1}).random("m", {16, 3});
  add_batch_norm(&m, "bn", "h", "x", 4);
  if (!between.empty()) m.node(between);
  m.node(layer).output("y", DataType::kFloat);
  return m;
}

INSTANTIATE_TEST_SUITE_P(
    FoldBatchNorms, KeptBatchNorms,
    ::testing::Values(
        KeptCase{"SharedWeight",
                 [] {
                   ModelBuilder m = behind("h = Conv(x, w, b)", 4);
                   m.node("z = Conv(x, w)").output("z", DataType::kFloat);
                   return m;
                 },
                 "\"w\" is shared"},
        KeptCase{
            "SharedBias",
            [] {
              ModelBuilder m = behind("h = Conv(x, w, b)", 4);
              m.random("w2", {4, 4, 1, 1}).node("z = Conv(x, w2, b)").output("z", DataType::kFloat);
              return m;
            },
            "\"b\" is shared"},
        KeptCase{"ComputedWeight",
                 [] {
                   ModelBuilder m;
                   m.input("x", {-1, 4, 8, 8}).input("w0", {4, 4, 3, 3});
                   m.node("w = Relu(w0)").node("h = Conv(x, w)");
                   add_batch_norm(&m, "bn", "y", "h", 4);
                   m.output("y", DataType::kFloat);
                   return m;
                 },
                 "is computed"},
        KeptCase{"LayerThatIsAGraphOutput",
                 [] {
                   ModelBuilder m = behind("h = Conv(x, w, b)", 4);
                   m.output("h", DataType::kFloat);
                   return m;
                 },
                 "is a graph output"},
        KeptCase{"LayerWithTwoReaders",
                 [] {
                   ModelBuilder m = behind("h = Conv(x, w, b)", 4);
                   m.node("z = Relu(h)").output("z", DataType::kFloat);
                   return m;
                 },
                 "has other readers"},
        KeptCase{"GroupedConvTranspose",
                 [] {
                   ModelBuilder m;
                   m.input("x", {-1, 4, 8, 8})
                       .random("w", {4, 3, 2, 2})
                       .node("h = ConvTranspose(x, w) {group: 2}");
                   add_batch_norm(&m, "bn", "y", "h", 6);
                   m.output("y", DataType::kFloat);
                   return m;
                 },
                 "grouped ConvTranspose"},
        KeptCase{"TrainingMode", [] { return with_bn_attribute("training_mode: 1"); },
                 "training mode"},
        KeptCase{"PaddedConvBehind", [] { return in_front("y = Conv(h, w) {pads: [1, 1, 1, 1]}"); },
                 "pads its input"},
        KeptCase{"SamePaddedConvBehind",
                 [] { return in_front("y = Conv(h, w) {auto_pad: \"SAME_UPPER\"}"); },
                 "pads its input"},
        KeptCase{"ConvTransposeBehind", [] { return in_front("y = ConvTranspose(h, w)"); },
                 "is a ConvTranspose"},
        KeptCase{"FlattenOverTheBatchBehind",
                 [] { return in_front("y = MatMul(f, m)", "f = Flatten(h) {axis: 0}"); },
                 "keep its channels in order"},
        KeptCase{"NoLayerAround", [] { return in_front("y = Relu(h)"); },
                 "no layer in front of it; no layer that"}),
    [](const auto& test) { return test.param.name; });

TEST(FoldBatchNorms, FoldsForwardThroughFlattenChannelByChannel) {
  const FoldBatchNormsResult result =
      fold_batch_norms(in_front("y = Gemm(f, m)", "f = Flatten(h)").model());
  EXPECT_THAT(op_types(result.model), ElementsAre("Flatten", "Gemm"));
  ASSERT_THAT(result.folded, SizeIs(1));
  EXPECT_TRUE(result.folded[0].forward);
}

TEST(FoldBatchNorms, FoldsForwardIntoAConvolutionWithoutPadding) {
  ModelBuilder m;
  m.input("x", {-1, 2, 4, 4}).floats("w", {1, 2, 1, 1}, {2, 3});
  m.floats("g", {2}, {10, 1})
      .floats("be", {2}, {1, 2})
      .floats("mu", {2}, {0.5, 4})
      .floats("v", {2}, {1, 1});
  m.node("h = BatchNormalization(x, g, be, mu, v) {epsilon: 0.0}")
      .node("y = Conv(h, w) {name: \"c\"}");
  m.output("y", DataType::kFloat);
  const Model model = fold_batch_norms(m.model()).model;
  EXPECT_THAT(op_types(model), ElementsAre("Conv"));
  EXPECT_THAT(values_of(model, "w"), ElementsAre(20, 3));
  EXPECT_THAT(values_of(model, "c.bias"), ElementsAre(-14));  // 2 * (1 - 5) + 3 * (2 - 4)
}

TEST(FoldBatchNorms, OneThatStaysKeepsAScaleAndAnOffsetOnly) {
  ModelBuilder m;
  m.input("x", {-1, 1, 4, 4});
  m.floats("g", {1}, {3}).floats("be", {1}, {5}).floats("mu", {1}, {4}).floats("v", {1}, {3.75});
  m.node("y = BatchNormalization(x, g, be, mu, v) {epsilon: 0.25}").output("y", DataType::kFloat);
  const Model model = fold_batch_norms(m.model()).model;
  EXPECT_THAT(values_of(model, "g"), ElementsAre(1.5));
  EXPECT_THAT(values_of(model, "be"), ElementsAre(-1));
  EXPECT_THAT(values_of(model, "mu"), ElementsAre(0));
  EXPECT_THAT(values_of(model, "v"), ElementsAre(1));
  EXPECT_EQ(Graph(model).node(0).attributes.at("epsilon").f, 0.0F);
}

TEST(FoldBatchNorms, AZeroVarianceIsReportedAndLeftAlone) {
  ModelBuilder m;
  m.input("x", {-1, 1, 4, 4}).random("w", {1, 1, 1, 1}).node("h = Conv(x, w)");
  m.floats("g", {1}, {3}).floats("be", {1}, {5}).floats("mu", {1}, {4}).floats("v", {1}, {0});
  m.node("y = BatchNormalization(h, g, be, mu, v) {epsilon: 0.0}").output("y", DataType::kFloat);
  const FoldBatchNormsResult result = fold_batch_norms(m.model());
  EXPECT_THAT(reason(result), HasSubstr("deviation of channel 0 is zero"));
  EXPECT_THAT(values_of(result.model, "g"), ElementsAre(3));
}

}  // namespace
}  // namespace bitsweep::graph
