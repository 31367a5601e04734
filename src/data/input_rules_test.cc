#include "data/input_rules.h"

#include <gmock/gmock.h>

#include <limits>

#include "data/test_files.h"

namespace bitsweep::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::input;

const ValueInfo kImage = input("image", DataType::kFloat, {-1, 3, 8, 8});
const ValueInfo kFixedBatch = input("image", DataType::kFloat, {4, 3});

NpyHeader header(DataType type, Shape shape) {
  return {.descr = "",
          .type = type,
          .item_bytes = data_type_size(type),
          .fortran_order = false,
          .shape = std::move(shape)};
}
ArrayPlan plan(const ValueInfo& info, Shape shape, std::int64_t batch_size = 0) {
  return plan_array(info, header(info.type, std::move(shape)), "x.npy", batch_size);
}

class InputRules : public testing::FolderTest {};

TEST_F(InputRules, ArrayOfTheInputsRankIsAStackOfSamples) {
  EXPECT_EQ(plan(kImage, {10, 3, 8, 8}).num_samples, 10);
  EXPECT_EQ(plan(kImage, {10, 3, 8, 8}, 4).num_samples, 3) << "the last sample has 2 rows";
  EXPECT_EQ(plan(kFixedBatch, {8, 3}).num_samples, 2);
  EXPECT_EQ(plan(kFixedBatch, {8, 3}).rows, 4);
}

TEST_F(InputRules, OneMoreDimensionCountsSamplesAndOneLessIsASingleSample) {
  EXPECT_EQ(plan(kImage, {5, 2, 3, 8, 8}).cut, ArrayPlan::Cut::kItems);
  EXPECT_EQ(plan(kImage, {5, 2, 3, 8, 8}).num_samples, 5);
  EXPECT_EQ(plan(kImage, {3, 8, 8}).cut, ArrayPlan::Cut::kWhole);
  EXPECT_EQ(plan(input("rate", DataType::kInt64, {}), {7}).num_samples, 7);
  EXPECT_EQ(plan(input("rate", DataType::kInt64, {}), {}).cut, ArrayPlan::Cut::kConstant);
}

TEST_F(InputRules, InputWithoutDeclaredShapeTakesRows) {
  ValueInfo any{.name = "x", .type = DataType::kFloat, .has_shape = false, .shape = {}};
  EXPECT_EQ(plan(any, {6, 2}).num_samples, 6);
}

TEST_F(InputRules, WrongTypeSaysHowToConvert) {
  EXPECT_EQ(
      error_of([] { plan_array(kImage, header(DataType::kDouble, {1, 3, 8, 8}), "x.npy", 0); }),
      "data: x.npy holds float64, but input \"image\" wants float32 [n,3,8,8]; convert it with "
      "array.astype(np.float32)");
}

TEST_F(InputRules, WrongRankOrDimensionShowsBothShapes) {
  EXPECT_EQ(error_of([] { plan(kImage, {10, 3, 9, 8}); }),
            "data: x.npy has shape [10,3,9,8], but input \"image\" wants float32 [n,3,8,8]; make "
            "dimension 2 8 instead of 9");
  EXPECT_THAT(error_of([] { plan(kImage, {8, 8}); }),
              HasSubstr("stack the samples along the first dimension"));
  EXPECT_THAT(error_of([] { plan(kFixedBatch, {6, 3}); }), HasSubstr("multiple of 4"));
  EXPECT_THAT(error_of([] { plan(kFixedBatch, {8, 3}, 2); }),
              HasSubstr("leave the batch size out"));
  EXPECT_THAT(error_of([] { plan(kImage, {0, 3, 8, 8}); }), HasSubstr("no samples"));
}

TEST_F(InputRules, RawTwoByteElementsServeBfloat16Only) {
  NpyHeader raw = header(DataType::kUndefined, {2, 3});
  raw.descr = "|V2";
  raw.item_bytes = 2;
  EXPECT_EQ(plan_array(input("x", DataType::kBfloat16, {-1, 3}), raw, "x.npy", 0).num_samples, 2);
  EXPECT_THAT(
      error_of([&] { plan_array(input("x", DataType::kFloat16, {-1, 3}), raw, "x.npy", 0); }),
      HasSubstr("|V2"));
}

TEST_F(InputRules, TextInputsAreRefused) {
  EXPECT_THAT(error_of([] { plan(input("s", DataType::kString, {-1}), {1}); }),
              HasSubstr("is text"));
}

TEST_F(InputRules, NonFiniteValuesNameInputSampleAndKind) {
  Tensor tensor = Tensor::allocate(DataType::kFloat, {2});
  tensor.mutable_floats()[0] = 1.0F;
  tensor.mutable_floats()[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_of([&] { check_finite(tensor, "image", 7, "eval.npz"); }),
            "data: input \"image\" holds NaN in sample 7 (counted from 0) of eval.npz; check the "
            "preprocessing, or leave "
            "the sample out");
  tensor.mutable_floats()[1] = -std::numeric_limits<float>::infinity();
  EXPECT_THAT(error_of([&] { check_finite(tensor, "image", 0, "x"); }),
              HasSubstr("infinite values in sample 0"));
  tensor.mutable_floats()[1] = std::numeric_limits<float>::max();
  EXPECT_EQ(error_of([&] { check_finite(tensor, "image", 0, "x"); }), "no error");
}

TEST_F(InputRules, DoubleHalfAndBfloat16AreCheckedTooAndIntegersPass) {
  Tensor wide = Tensor::allocate(DataType::kDouble, {1});
  *static_cast<double*>(wide.mutable_data()) = 1e300;
  EXPECT_EQ(error_of([&] { check_finite(wide, "x", 0, "f"); }), "no error")
      << "too large for float32, but finite";
  *static_cast<double*>(wide.mutable_data()) = std::numeric_limits<double>::infinity();
  EXPECT_THAT(error_of([&] { check_finite(wide, "x", 0, "f"); }), HasSubstr("infinite"));
  for (const auto& [type, nan] :
       {std::pair{DataType::kFloat16, 0x7E00}, std::pair{DataType::kBfloat16, 0x7FC0}}) {
    Tensor half = Tensor::allocate(type, {1});
    *static_cast<std::uint16_t*>(half.mutable_data()) = static_cast<std::uint16_t>(nan);
    EXPECT_THAT(error_of([&] { check_finite(half, "x", 0, "f"); }), HasSubstr("NaN"));
  }
  Tensor integers = Tensor::allocate(DataType::kInt32, {1});
  *static_cast<std::int32_t*>(integers.mutable_data()) = 0x7FC00000;
  EXPECT_EQ(error_of([&] { check_finite(integers, "x", 0, "f"); }), "no error");
}

TEST_F(InputRules, MissingNameSuggestsTheClosestOne) {
  const std::vector<ValueInfo> inputs = {input("input_ids", DataType::kInt64, {-1, -1})};
  EXPECT_EQ(error_of([&] {
              require_names(inputs, std::vector<std::string>{"input_id", "label"}, "eval.npz",
                            "array");
            }),
            "data: eval.npz has no array for input \"input_ids\"; it holds \"input_id\", \"label\" "
            "and the model takes "
            "\"input_ids\"; rename \"input_id\" to \"input_ids\"");
  EXPECT_THAT(
      error_of([&] { require_names(inputs, std::vector<std::string>{"arr_0"}, "e", "array"); }),
      HasSubstr("rename \"arr_0\" to \"input_ids\""));
  EXPECT_THAT(
      error_of([&] { require_names(inputs, std::vector<std::string>{"a", "b"}, "e", "array"); }),
      HasSubstr("name one array after each input"));
  EXPECT_THAT(names_beyond(inputs, std::vector<std::string>{"input_ids", "label"}),
              ElementsAre("label"));
}

}  // namespace
}  // namespace bitsweep::data
