#include "bitsweep/format.h"

#include <gtest/gtest.h>

#include "bitsweep/error.h"

namespace bitsweep {
namespace {

TEST(Format, EveryNameParsesBackToTheSameFormat) {
  for (const char* name : {"int2", "int4", "int7", "int8", "int16", "int32", "float16", "bfloat16",
                           "float32", "float8e4m3fn", "float8e5m2"}) {
    EXPECT_EQ(Format::parse(name).name(), name);
  }
  EXPECT_EQ(Format::parse("int5"), Format::integer(5));
}

TEST(Format, UnknownNamesAreRefusedWithTheKnownOnes) {
  for (const char* name : {"", "int", "int8x", "uint8", "float64", "int8 "}) {
    try {
      Format::parse(name);
      ADD_FAILURE() << name << " was accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::kInvalidArgument);
      EXPECT_NE(e.fix().find("float8e4m3fn"), std::string::npos) << e.what();
    }
  }
}

TEST(Format, WidthsOutsideTwoToThirtyTwoAreRefused) {
  for (const int bits : {-1, 0, 1, 33}) EXPECT_THROW(Format::integer(bits), Error) << bits;
  EXPECT_THROW(Format::parse("int1"), Error);
  EXPECT_THROW(Format::parse("int99999999999"), Error);
}

TEST(Format, OnlyIntegersAndEightBitFloatsNeedAnEncoding) {
  for (const char* name : {"int2", "int32", "float8e4m3fn", "float8e5m2"}) {
    EXPECT_TRUE(Format::parse(name).needs_encoding()) << name;
  }
  for (const char* name : {"float16", "bfloat16", "float32"})
    EXPECT_FALSE(Format::parse(name).needs_encoding()) << name;
}

}  // namespace
}  // namespace bitsweep
