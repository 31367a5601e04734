#include "words.h"

#include <gmock/gmock.h>

#include "bitsweep/error.h"

namespace bitsweep::cli {
namespace {

TEST(Words, DurationsGetCoarserAsTheyGrow) {
  EXPECT_EQ(duration_text(0.84), "0.8 s");
  EXPECT_EQ(duration_text(42.4), "42 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(3900), "1 h 05 min");
}

TEST(Words, CountsAreShort) {
  EXPECT_EQ(count_text(7), "7");
  EXPECT_EQ(count_text(12500), "12.5 k");
  EXPECT_EQ(count_text(1'240'000'000), "1.24 G");
}

TEST(Words, LongNamesKeepTheirBeginningAndEnd) {
  EXPECT_EQ(shortened("conv1", 11), "conv1");
  EXPECT_EQ(shortened("block1.conv1.weight", 11), "bloc...ight");
  EXPECT_EQ(shortened("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 9), "\u00e4...\u00e4");
}

TEST(Words, SizesTakeDecimalAndBinaryUnits) {
  EXPECT_EQ(parse_size("4096"), 4096);
  EXPECT_EQ(parse_size("800MB"), 800'000'000);
  EXPECT_EQ(parse_size("1.5 GiB"), 3LL << 29);
  EXPECT_EQ(parse_size("2g"), 2'000'000'000);
  for (const char* bad : {"", "much", "-1GB", "0", "2 GX", "nan", "1e30"})
    EXPECT_THROW(parse_size(bad), Error) << bad;
}

TEST(Words, BitsNameWeightsThenActivationsAndTheirRanges) {
  EXPECT_EQ(parse_bits("W4A16").parameter, Format::integer(4));
  EXPECT_EQ(parse_bits("w8a16").activation, Format::integer(16));
  EXPECT_EQ(parse_bits("W4A8@block32@mse").granularity->block_size, 32);
  for (const char* bad : {"", "float", "8x8", "W8", "A8W8", "W8A8!", "W1A8", "W8A99", "W8 A8"})
    EXPECT_THROW(parse_bits(bad), Error) << bad;
}

TEST(Table, AlignsColumnsAndLeavesNoBlanksAtTheEnd) {
  Table table({{"rank", true}, {"name"}, {"what"}});
  table.add({"1", "conv", ""});
  table.add({"12", "a long name", "weight"});
  EXPECT_EQ(table.text(),
            "rank  name         what\n"
            "   1  conv\n"
            "  12  a long name  weight\n");
}

TEST(Table, AVeryLongNameWidensItsOwnRowOnly) {
  const std::string name(200, 'x');
  Table table({{"name"}, {"what"}});
  table.add({"conv", "weight"});
  table.add({name, "activation"});
  const std::string text = table.text();
  EXPECT_NE(text.find("\n" + name + "  activation\n"), std::string::npos);
  EXPECT_LT(text.find("weight"), text.find(name));
  EXPECT_EQ(text.find("what"), 50U);
}

}  // namespace
}  // namespace bitsweep::cli
