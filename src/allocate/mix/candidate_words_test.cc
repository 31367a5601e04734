#include <gtest/gtest.h>

#include "bitsweep/error.h"
#include "bitsweep/mix.h"

namespace bitsweep {
namespace {

TEST(MixCandidate, IsReadAndWrittenWithTheSameWords) {
  for (const char* text : {"W8A16", "W4A8", "float", "W4A8@block32", "W8A8@per_channel@mse",
                           "W8A8@per_tensor", "W4A16@percentile99.99", "W8A8@tf_enhanced"})
    EXPECT_EQ(mix_candidate_text(parse_mix_candidate(text)), text);
  EXPECT_EQ(parse_mix_candidate("w4a16"), (Candidate{Format::integer(16), Format::integer(4)}));
  EXPECT_EQ(mix_candidate_text({Format::parse("float16"), Format::integer(8)}), "float16/int8");
  EXPECT_EQ(mix_candidate_text(parse_mix_candidate("W4A8@mse@block32")), "W4A8@block32@mse");
  const Candidate both = parse_mix_candidate("W4A8@block32@percentile99");
  EXPECT_EQ(both.granularity, (WeightGranularity{WeightGranularity::Kind::kBlock, 32}));
  EXPECT_EQ(both.estimator, (RangeEstimator{Scheme::kPercentile, 99.0}));
}

TEST(MixCandidate, RefusesOtherWords) {
  for (const char* text : {"",
                           "W8",
                           "8x8",
                           "W8A16x",
                           "WA",
                           "W1A8",
                           "W8A64",
                           "A8W8",
                           "floaty",
                           "W8A8@",
                           "@block32",
                           "W8A8@block",
                           "W8A8@block0",
                           "W8A8@block-4",
                           "W8A8@block32x",
                           "W8A8@best",
                           "W8A8@mse@entropy",
                           "W8A8@block8@per_tensor",
                           "float@mse",
                           "W8A8@percentile",
                           "W8A8@percentile101",
                           "W8A8@@mse"})
    EXPECT_THROW(parse_mix_candidate(text), Error) << text;
}

}  // namespace
}  // namespace bitsweep
