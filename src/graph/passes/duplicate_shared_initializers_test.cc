#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/testing/own_folder.h"
#include "bitsweep/passes.h"
#include "graph/passes/testing/batch_norms.h"

namespace bitsweep::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ModelBuilder;
using ::testing::SizeIs;

ModelBuilder two_readers() {
  ModelBuilder m;
  m.input("x", {-1, 16}).random("w", {16, 16});
  m.node("h = MatMul(x, w) {name: \"a\"}")
      .node("y = MatMul(h, w) {name: \"b\"}")
      .output("y", DataType::kFloat);
  return m;
}

TEST(DuplicateSharedInitializers, GivesEachFurtherReaderACopy) {
  const DuplicateInitializersResult result = duplicate_shared_initializers(two_readers().model());
  ASSERT_THAT(result.copies, SizeIs(1));
  EXPECT_EQ(result.copies[0].initializer, "w");
  EXPECT_EQ(result.copies[0].copy, "w_of_b");
  EXPECT_EQ(result.copies[0].node, "b");
  const Graph graph(result.model);
  EXPECT_THAT(graph.tensor(graph.find("w")).uses, SizeIs(1));
  EXPECT_TRUE(
      graph.static_value(graph.find("w")).equal_bits(graph.static_value(graph.find("w_of_b"))));
}

TEST(DuplicateSharedInitializers, TheResultCanBeSavedAndRead) {
  const Model model = duplicate_shared_initializers(two_readers().model()).model;
  const bitsweep::testing::OwnFolder folder;
  const auto path = folder.path() / "m.onnx";
  model.save(path);
  EXPECT_EQ(Model::load(path).content_hash(), model.content_hash());
}

TEST(DuplicateSharedInitializers, IntegersStayShared) {
  ModelBuilder m;
  m.input("x", {-1, 4}).ints("shape", {2}, {-1, 4});
  m.node("h = Reshape(x, shape)").node("y = Reshape(h, shape)").output("y", DataType::kFloat);
  EXPECT_THAT(duplicate_shared_initializers(m.model()).copies, IsEmpty());
}

TEST(DuplicateSharedInitializers, MakesFoldingPossibleWhereAWeightWasShared) {
  ModelBuilder m;
  m.input("x", {-1, 4}).random("w", {4, 4}).node("h = MatMul(x, w)");
  testing::add_batch_norm(&m, "bn", "n", "h", 4);
  m.node("y = MatMul(n, w)").output("y", DataType::kFloat);
  EXPECT_THAT(fold_batch_norms(m.model()).folded, IsEmpty());
  EXPECT_THAT(fold_batch_norms(duplicate_shared_initializers(m.model()).model).folded, SizeIs(1));
}

}  // namespace
}  // namespace bitsweep::graph
