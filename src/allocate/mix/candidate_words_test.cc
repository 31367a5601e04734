#include <gtest/gtest.h>

#include "bitsweep/error.h"
#include "bitsweep/mix.h"

namespace bitsweep {
namespace {

TEST(MixCandidate, IsReadAndWrittenWithTheSameWords) {
  for (const char* text : {"W8A16", "W4A8", "float"})
    EXPECT_EQ(mix_candidate_text(parse_mix_candidate(text)), text);
  EXPECT_EQ(parse_mix_candidate("w4a16"), (Candidate{Format::integer(16), Format::integer(4)}));
  EXPECT_EQ(mix_candidate_text({Format::parse("float16"), Format::integer(8)}), "float16/int8");
}

TEST(MixCandidate, RefusesOtherWords) {
  for (const char* text : {"", "W8", "8x8", "W8A16x", "WA", "W1A8", "W8A64", "A8W8", "floaty"})
    EXPECT_THROW(parse_mix_candidate(text), Error) << text;
}

}  // namespace
}  // namespace bitsweep
