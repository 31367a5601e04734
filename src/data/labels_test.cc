#include <gtest/gtest.h>

#include <cstring>

#include "bitsweep/data.h"
#include "bitsweep/error.h"

namespace bitsweep {
namespace {

Tensor integers(Shape shape, const std::vector<std::int64_t>& values) {
  Tensor tensor = Tensor::allocate(DataType::kInt64, std::move(shape));
  std::memcpy(tensor.mutable_data(), values.data(), values.size() * sizeof(std::int64_t));
  return tensor;
}

/// Two samples of two rows.
class TwoBatches final : public DataSource {
 public:
  bool next(Feed* feed) override {
    if (at_ == 2) return false;
    ++at_;
    *feed = {{"x", Tensor::allocate(DataType::kFloat, {2, 3})}};
    return true;
  }
  void rewind() override { at_ = 0; }
  std::int64_t size() const override { return 2; }
  std::vector<std::string> unused() const override { return {}; }

 private:
  int at_ = 0;
};

std::vector<std::int64_t> labels_of(const DataSource& source) {
  const Tensor labels = source.labels();
  const auto* values = static_cast<const std::int64_t*>(labels.data());
  return {values, values + labels.size()};
}

TEST(WithLabels, GivesEachRowOfABatchItsLabel) {
  const auto source = with_labels(std::make_unique<TwoBatches>(), integers({4}, {3, 1, 4, 2}));
  for (int round = 0; round < 2; ++round) {
    Feed feed;
    source->rewind();
    ASSERT_TRUE(source->next(&feed));
    EXPECT_EQ(labels_of(*source), (std::vector<std::int64_t>{3, 1}));
    ASSERT_TRUE(source->next(&feed));
    EXPECT_EQ(labels_of(*source), (std::vector<std::int64_t>{4, 2}));
    EXPECT_FALSE(source->next(&feed));
  }
}

TEST(WithLabels, TakesOneRowOfLabelsPerSample) {
  const auto source = with_labels(std::make_unique<TwoBatches>(), integers({2, 2}, {3, 1, 4, 2}));
  Feed feed;
  ASSERT_TRUE(source->next(&feed));
  EXPECT_EQ(labels_of(*source), (std::vector<std::int64_t>{3, 1}));
}

TEST(WithLabels, TooFewAreAnErrorWithTheirNumber) {
  const auto source = with_labels(std::make_unique<TwoBatches>(), integers({3}, {3, 1, 4}));
  Feed feed;
  ASSERT_TRUE(source->next(&feed));
  try {
    source->next(&feed);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("there are 3 labels"), std::string::npos);
  }
}

}  // namespace
}  // namespace bitsweep
