#include "bitsweep/sequence.h"

#include <gtest/gtest.h>

#include <utility>

namespace bitsweep {
namespace {

Tensor numbers(Shape shape, float value) {
  Tensor t = Tensor::allocate(DataType::kFloat, std::move(shape));
  for (float& x : t.mutable_floats()) x = value;
  return t;
}

TEST(Sequence, KeepsItsElementsAndIsNoTensor) {
  const Tensor pair = make_sequence({numbers({2}, 1.0F), numbers({3}, 2.0F)});
  EXPECT_TRUE(is_sequence(pair));
  EXPECT_FALSE(pair.defined());
  EXPECT_EQ(pair.size_bytes(), 0U);
  ASSERT_EQ(elements_of(pair).size(), 2U);
  EXPECT_EQ(elements_of(pair)[1].floats()[2], 2.0F);
  EXPECT_TRUE(is_sequence(make_sequence({})));
  EXPECT_FALSE(is_sequence(Tensor()));
  EXPECT_TRUE(elements_of(numbers({2}, 1.0F)).empty());
}

TEST(Sequence, ADeepCopySharesNothing) {
  Tensor original = numbers({2}, 1.0F);
  const Tensor copy = deep_copy(make_sequence({original}));
  original.mutable_floats()[0] = 7.0F;
  EXPECT_EQ(elements_of(copy)[0].floats()[0], 1.0F);
  EXPECT_FALSE(deep_copy(Tensor()).defined());
}

TEST(Sequence, TwoOfEqualLengthAreNotTakenForTheSame) {
  const Tensor one = make_sequence({numbers({2}, 1.0F)});
  EXPECT_TRUE(one.equal_bits(one));
  EXPECT_FALSE(one.equal_bits(make_sequence({numbers({2}, 2.0F)})));
}

}  // namespace
}  // namespace bitsweep
