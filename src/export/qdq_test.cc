#include <gtest/gtest.h>

#include <cmath>

#include "bitsweep/error.h"
#include "bitsweep/qdq_export.h"
#include "export/qdq_sites.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using exporting::FileEntry;
using simulate::testing::calibrate;
using simulate::testing::nets;
using simulate::testing::samples;

FileEntry int4_entry() {
  FileEntry entry;
  entry.name = "w";
  entry.parameter = true;
  entry.format = Format::integer(4);
  entry.symmetric = entry.signed_codes = true;
  entry.cells = {{.min = -4.0, .max = 3.5, .delta = 0.5, .offset = -8.0}};
  return entry;
}

TEST(QdqSites, PacksTwoFourBitCodesIntoAByte) {
  Tensor values = Tensor::allocate(DataType::kFloat, {3});
  const float data[] = {-4.0F, 3.5F, -0.5F};
  std::copy(std::begin(data), std::end(data), values.mutable_floats().begin());
  const Tensor codes = exporting::codes_of(int4_entry(), values);
  EXPECT_EQ(codes.type(), DataType::kInt4);
  const auto* bytes = static_cast<const unsigned char*>(codes.data());
  EXPECT_EQ(bytes[0], 0x78);
  EXPECT_EQ(bytes[1], 0x0F);
}

TEST(QdqSites, PacksFourTwoBitCodesIntoAByteWhereTheTypeIsAskedFor) {
  FileEntry entry = int4_entry();
  entry.format = Format::integer(2);
  entry.cells = {{.min = -1.0, .max = 0.5, .delta = 0.5, .offset = -2.0}};
  Tensor values = Tensor::allocate(DataType::kFloat, {5});
  const float data[] = {-1.0F, -0.5F, 0.0F, 0.5F, -1.0F};
  std::copy(std::begin(data), std::end(data), values.mutable_floats().begin());
  EXPECT_EQ(exporting::codes_of(entry, values).type(), DataType::kInt4);
  EXPECT_EQ(exporting::required_opset(entry, DataType::kFloat), 21);
  entry.two_bit_type = true;
  const Tensor codes = exporting::codes_of(entry, values);
  EXPECT_EQ(codes.type(), DataType::kInt2);
  const auto* bytes = static_cast<const unsigned char*>(codes.data());
  EXPECT_EQ(bytes[0], 0b01001110);
  EXPECT_EQ(bytes[1], 0b00000010);
  EXPECT_EQ(exporting::required_opset(entry, DataType::kFloat), 25);
}

TEST(QdqSites, WritesTheBitsOfEightBitFloats) {
  FileEntry entry = int4_entry();
  entry.format = Format::parse("float8e4m3fn");
  entry.cells = {{.delta = 2.0}};
  Tensor values = Tensor::allocate(DataType::kFloat, {4});
  const float data[] = {2.0F, -896.0F, std::ldexp(2.0F, -9),
                        0.0F};  // 1, -448, the smallest subnormal, 0
  std::copy(std::begin(data), std::end(data), values.mutable_floats().begin());
  const Tensor codes = exporting::codes_of(entry, values);
  const auto* bytes = static_cast<const unsigned char*>(codes.data());
  EXPECT_EQ(bytes[0], 0x38);
  EXPECT_EQ(bytes[1], 0xFE);
  EXPECT_EQ(bytes[2], 0x01);
  EXPECT_EQ(bytes[3], 0x00);
}

TEST(QdqSites, NeverWriteAStepOfZero) {
  FileEntry entry = int4_entry();
  entry.cells = {{.min = -8e-9, .max = 7e-9, .delta = 1e-9, .offset = -8.0}};
  const Tensor scale =
      exporting::qdq_site(entry, DataType::kFloat16, {}, {.half_scales = true}).scale;
  ASSERT_EQ(scale.type(), DataType::kFloat16);
  EXPECT_EQ(scale.to_float().floats().front(), 0x1p-24F);
}

TEST(QdqSites, NeedTheOperatorSetOfTheirTypes) {
  FileEntry entry = int4_entry();
  EXPECT_EQ(exporting::required_opset(entry, DataType::kFloat), 21);
  entry.format = Format::integer(8);
  EXPECT_EQ(exporting::required_opset(entry, DataType::kFloat), 10);
  EXPECT_EQ(exporting::required_opset(entry, DataType::kBfloat16), 13);
  entry.format = Format::integer(5);
  EXPECT_EQ(exporting::required_opset(entry, DataType::kFloat), 13);
  entry.format = Format::integer(20);
  EXPECT_THROW(exporting::required_opset(entry, DataType::kFloat), Error);
}

TEST(QdqSites, WriteTheBlockScalesOfLpbqAsMultiplesOfChannelScales) {
  FileEntry entry = int4_entry();
  entry.kind = exporting::EntryKind::kLpbq;
  entry.channel_axis = 0;
  entry.block_axis = 1;
  entry.block_size = 2;
  entry.scale_bits = 4;
  entry.grid = {2, 2};
  entry.cells.assign(4, entry.cells.front());
  const double deltas[] = {16 * 0.5, 3 * 0.5, 7 * 0.25, 16 * 0.25};
  for (std::size_t i = 0; i < 4; ++i) entry.cells[i].delta = deltas[i];
  const graph::QdqSite site =
      exporting::qdq_site(entry, DataType::kFloat, {2, 4}, {.lpbq_multiples = true});
  ASSERT_EQ(site.scale_multiples.shape(), (Shape{2, 2}));
  const auto* multiples = static_cast<const unsigned char*>(site.scale_multiples.data());
  EXPECT_EQ(multiples[0], 16);
  EXPECT_EQ(multiples[1], 3);
  EXPECT_EQ(multiples[2], 7);
  EXPECT_EQ(multiples[3], 16);
  EXPECT_EQ(site.scale_axis, 0);
  EXPECT_EQ(site.scale.floats()[0], 0.5F);
  EXPECT_EQ(site.scale.floats()[1], 0.25F);
  EXPECT_TRUE(site.exact_scale.empty());
  entry.scale_bits = 16;  // 65536 fits in no 16 bits
  EXPECT_FALSE(exporting::qdq_site(entry, DataType::kFloat, {2, 4}, {.lpbq_multiples = true})
                   .scale_multiples.defined());
}

TEST(ToOnnxQdq, KeepsTheNamesOfInputsAndOutputs) {
  for (const auto& [name, model] : nets()) {
    Simulation sim(model);
    calibrate(sim, samples(model, 1));
    const Model qdq = to_onnx_qdq(sim);
    ASSERT_EQ(qdq.outputs().size(), model.outputs().size()) << name;
    for (std::size_t i = 0; i < qdq.outputs().size(); ++i)
      EXPECT_EQ(qdq.outputs()[i].name, model.outputs()[i].name) << name;
    ASSERT_EQ(qdq.inputs().size(), model.inputs().size()) << name;
    EXPECT_GT(qdq.num_nodes(), model.num_nodes()) << name;
    EXPECT_EQ(sim.model().content_hash(), model.content_hash()) << name;
  }
}

TEST(ToOnnxQdq, RefusesQuantizersWithoutEncoding) {
  Simulation sim(nets().front().second);
  EXPECT_THROW(to_onnx_qdq(sim), Error);
}

}  // namespace
}  // namespace bitsweep
