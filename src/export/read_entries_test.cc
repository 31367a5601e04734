#include "export/read_entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bitsweep/error.h"
#include "export/write_entries.h"

namespace bitsweep::exporting {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string message(const std::string& text) {
  try {
    read_entries(text, "a.encodings");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidData);
    return e.what();
  }
  return "no error";
}

std::string version_1(const std::string& entry) {
  return R"({"version": "1.0.0", "activation_encodings": [], "param_encodings": [)" + entry + "]}";
}

std::string version_2(const std::string& entry, const std::string& version = "2.0.0") {
  return R"({"version": ")" + version + R"(", "encodings": [)" + entry + "]}";
}

FileEntry blocks() {
  FileEntry entry;
  entry.name = "w";
  entry.parameter = true;
  entry.format = Format::integer(4);
  entry.symmetric = entry.signed_codes = true;
  entry.kind = EntryKind::kLpbq;
  entry.channel_axis = 1;
  entry.block_axis = 0;
  entry.block_size = 2;
  entry.scale_bits = 4;
  entry.grid = {2, 3};
  for (const double delta : {16.0, 3.0, 32.0, 5.0, 16.0, 2.0}) {
    entry.cells.push_back({.min = -8 * delta, .max = 7 * delta, .delta = delta, .offset = -8});
  }
  return entry;
}

TEST(EncodingsText, OfTheOldestVersionGivesStrictGridsTheRangeOfAllCodes) {
  FileEntry w;
  w.name = "w";
  w.parameter = true;
  w.format = Format::integer(8);
  w.symmetric = w.signed_codes = true;
  w.cells = {{.min = -15.875, .max = 15.875, .delta = 0.125, .offset = -127}};
  const std::string text = write_entries({w}, {}, "0.6.1");
  EXPECT_THAT(text, HasSubstr(R"("max": 16.0)"));
  const EncodingsDocument document = read_entries(text, "a.encodings");
  EXPECT_EQ(document.entries.front().cells.front().max, 15.875);
  w.cells = {{.min = 0.0, .max = 31.75, .delta = 0.125, .offset = 0}};
  EXPECT_THAT(write_entries({w}, {}, "0.6.1"), HasSubstr(R"("max": 31.875)"));
  w.cells = {{.min = -16.0, .max = 15.875, .delta = 0.125, .offset = -128}};
  EXPECT_THAT(write_entries({w}, {}, "0.6.1"), HasSubstr(R"("max": 15.875)"));
}

TEST(EncodingsText, SaysAZeroPointOfZeroWhereASignWasAskedFor) {
  FileEntry x;
  x.name = "x";
  x.format = Format::integer(4);
  x.signed_codes = true;
  x.cells = {{.min = -0.8, .max = 0.7, .delta = 0.1, .offset = -8}};
  EXPECT_THAT(write_entries({x}, {}, "2.0.0"), Not(HasSubstr("y_zero_point")));
  x.sign_changed = true;
  EXPECT_THAT(write_entries({x}, {}, "2.0.0"), HasSubstr(R"("y_zero_point": 0)"));
}

TEST(EncodingsText, ShowsOneTensorInThreeVersions) {
  FileEntry x;
  x.name = "x";
  x.format = Format::integer(8);
  x.cells = {{.min = -2.0, .max = 3.1, .delta = 0.02, .offset = -100}};
  EXPECT_THAT(write_entries({x}, {}, "0.6.1"), HasSubstr(R"("is_symmetric": "False")"));
  EXPECT_THAT(write_entries({x}, {}, "1.0.0"), HasSubstr(R"("enc_type": "PER_TENSOR")"));
  const std::string two = write_entries({x}, {}, "2.0.0");
  EXPECT_THAT(two, HasSubstr(R"("output_dtype": "uint8")"));
  EXPECT_THAT(two, HasSubstr(R"("y_zero_point": 100)"));
}

TEST(EncodingsText, RefusesVersionsAndFormatsThatItCannotSay) {
  EXPECT_THROW(write_entries({}, {}, "2.1.0"), Error);
  EXPECT_THROW(write_entries({blocks()}, {}, "0.6.1"), Error);
  FileEntry x;
  x.name = "x";
  x.format = Format::parse("float8e5m2");
  x.cells = {{.delta = 0.5}};
  EXPECT_THROW(write_entries({x}, {}, "1.0.0"), Error);
  EXPECT_THAT(write_entries({x}, {}, "2.0.0"), HasSubstr("float8e5m2"));
}

TEST(ReadEntries, BringsBackLpbqOfVersion2) {
  const EncodingsDocument document = read_entries(write_entries({blocks()}, {}, "2.0.0"), "a");
  ASSERT_EQ(document.entries.size(), 1U);
  EXPECT_EQ(document.entries[0].kind, EntryKind::kLpbq);
  EXPECT_EQ(document.entries[0].cells, blocks().cells);
  EXPECT_EQ(document.entries[0].scale_bits, 4);
}

TEST(ReadEntries, TurnsSignedZeroPointsIntoOffsetsOfTheUnsignedGrid) {
  const auto document = read_entries(
      version_2(R"({"name": "x", "output_dtype": "int8", "y_scale": 0.5, "y_zero_point": 30})"),
      "a");
  EXPECT_EQ(document.entries[0].cells[0].offset, -158.0);
  EXPECT_FALSE(document.entries[0].symmetric);
  const auto zero =
      read_entries(version_2(R"({"name": "x", "output_dtype": "int8", "y_scale": 0.5})"), "a");
  EXPECT_TRUE(zero.entries[0].symmetric);
  EXPECT_EQ(zero.entries[0].cells[0].max, 63.5);
}

TEST(ReadEntries, DequantizesTheScalesOfVersion210) {
  const std::string entry =
      R"({"name": "w", "output_dtype": "int4", "axis": 0, "block_size": 2,
          "y_scale": {"x": [[1, 2], [3, 4]], "x_scale": [0.5, 0.25], "axis": 1, "input_dtype": "uint8"}})";
  const auto document = read_entries(version_2(entry, "2.1.0"), "a");
  const auto& cells = document.entries[0].cells;
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[0].delta, 0.5);
  EXPECT_EQ(cells[1].delta, 0.5);
  EXPECT_EQ(cells[2].delta, 1.5);
  EXPECT_EQ(cells[3].delta, 1.0);
  EXPECT_THAT(message(version_2(entry)), HasSubstr("only version 2.1.0"));
}

TEST(ReadEntries, NamesWhatIsWrong) {
  EXPECT_THAT(message("{"), HasSubstr("no JSON object"));
  EXPECT_THAT(message(R"({"version": "3.0.0"})"), HasSubstr(R"(version "3.0.0")"));
  EXPECT_THAT(message(R"({"version": "2.0.0"})"), HasSubstr(R"(no section "encodings")"));
  EXPECT_THAT(message(version_1(R"({"name": "w", "dtype": "INT", "bw": 8})")),
              HasSubstr(R"("w" of "a.encodings" has no "enc_type")"));
  const std::string lengths =
      R"({"name": "w", "dtype": "INT", "bw": 8, "enc_type": "PER_CHANNEL", "is_sym": true, "scale": [1, 2], "offset": [-128]})";
  EXPECT_THAT(message(version_1(lengths)), HasSubstr(R"(2 values in "scale" but 1 in "offset")"));
  EXPECT_THAT(message(version_2(R"({"name": "x", "output_dtype": "uint8", "y_scale": NaN})")),
              HasSubstr("no JSON object"));
  EXPECT_THAT(message(version_2(R"({"name": "x", "output_dtype": "uint8", "y_scale": "nan"})")),
              HasSubstr("finite numbers"));
  EXPECT_THAT(message(version_2(R"({"name": "x", "output_dtype": "uint8", "y_scale": -1.0})")),
              HasSubstr("scale of -1"));
  EXPECT_THAT(message(version_2(
                  R"({"name": "x", "output_dtype": "uint8", "y_scale": 1, "y_zero_point": 300})")),
              HasSubstr("zero point outside"));
  EXPECT_THAT(message(version_2(R"({"name": "x", "output_dtype": "uint99", "y_scale": 1})")),
              HasSubstr("uint99"));
  EXPECT_THAT(
      message(version_2(R"({"name": "x", "output_dtype": "uint8", "y_scale": 1, "scale": 1})")),
      HasSubstr("\"scale\""));
  const std::string x = R"({"name": "x", "output_dtype": "uint8", "y_scale": 1})";
  EXPECT_THAT(message(version_2(x + "," + x)), HasSubstr("twice"));
}

}  // namespace
}  // namespace bitsweep::exporting
