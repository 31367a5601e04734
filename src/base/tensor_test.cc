#include "bitsweep/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"
#include "bitsweep/error.h"

namespace bitsweep {
namespace {

TEST(Tensor, AllocatedBufferIsWritableAndBorrowedIsNot) {
  Tensor own = Tensor::allocate(DataType::kFloat, {2, 3});
  own.mutable_floats()[5] = 4.0F;
  EXPECT_EQ(own.floats()[5], 4.0F);
  Tensor view = Tensor::borrow(DataType::kFloat, {6}, own.data(), nullptr);
  EXPECT_EQ(view.floats()[5], 4.0F);
  EXPECT_THROW(view.mutable_data(), Error);
}

TEST(Tensor, FloatsOfAnIntegerTensorNamesTheType) {
  const Tensor t = Tensor::allocate(DataType::kInt64, {1});
  try {
    (void)t.floats();
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("int64"), std::string::npos);
  }
}

TEST(Tensor, PackedTypesFillWholeBytes) {
  EXPECT_EQ(Tensor::allocate(DataType::kInt4, {3, 3}).size_bytes(), 5U);
  EXPECT_EQ(Tensor::allocate(DataType::kUint2, {5}).size_bytes(), 2U);
  EXPECT_EQ(Tensor::allocate(DataType::kFloat6E2M3, {8}).size_bytes(), 6U);
  EXPECT_EQ(data_type_size(DataType::kInt4), 0U);
}

TEST(Half, EveryHalfSurvivesTheWayToFloatAndBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(float_to_half(value), bits) << bits;
  }
}

TEST(Half, RoundsToNearestEvenAndOverflowsToInfinity) {
  EXPECT_EQ(float_to_half(1.0F + 0x1p-11F), 0x3C00);    // tie to even
  EXPECT_EQ(float_to_half(1.0F + 0x1.8p-10F), 0x3C02);  // tie to even, upwards
  EXPECT_EQ(float_to_half(65520.0F), 0x7C00);
  EXPECT_EQ(float_to_half(65519.0F), 0x7BFF);
  EXPECT_EQ(float_to_half(0x1p-25F), 0);  // half of the smallest subnormal ties to zero
  EXPECT_EQ(float_to_bfloat16(1.0F + 0x1p-8F), 0x3F80);
}

}  // namespace
}  // namespace bitsweep
