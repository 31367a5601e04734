#include "base/sha256.h"

#include <gtest/gtest.h>

namespace bitsweep {
namespace {

std::string of(std::initializer_list<std::string_view> fields) {
  Sha256 hash;
  for (const std::string_view field : fields) hash.add(field);
  return hash.hexadecimal();
}

TEST(Sha256, IsThatOfTheLengthsAndTheBytes) {
  // printf '\3\0\0\0\0\0\0\0abc' | sha256sum
  EXPECT_EQ(of({"abc"}), "ce91dc5eec0139adf091900d225971d6ad246a845bad791b5693a9d0d55dd391");
}

TEST(Sha256, FieldsCannotRunIntoEachOther) { EXPECT_NE(of({"ab", "c"}), of({"a", "bc"})); }

}  // namespace
}  // namespace bitsweep
