#include "export/target_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bitsweep/error.h"
#include "bitsweep/qdq_export.h"
#include "export/write_entries.h"
#include "simulate/testing/nets.h"

namespace bitsweep {
namespace {

using exporting::apply_profile;
using exporting::FileEntry;
using simulate::testing::calibrate;
using simulate::testing::nets;
using simulate::testing::samples;
using ::testing::HasSubstr;

// [0, 25.5] in unsigned codes.
FileEntry relu_output() {
  FileEntry entry;
  entry.name = "r";
  entry.format = Format::integer(8);
  entry.cells = {{.min = 0.0, .max = 25.5, .delta = 0.1, .offset = 0.0}};
  return entry;
}

FileEntry channels_with_zero_points() {
  FileEntry entry = relu_output();
  entry.name = "w";
  entry.parameter = true;
  entry.kind = exporting::EntryKind::kPerChannel;
  entry.channel_axis = 0;
  entry.grid = {1};
  entry.cells = {{.min = -1.0, .max = 1.55, .delta = 0.01, .offset = -100.0}};
  return entry;
}

TEST(TargetProfile, OfTensorrtLeavesNoZeroPoint) {
  std::vector<FileEntry> entries = {relu_output(), channels_with_zero_points()};
  const std::vector<ProfileNote> notes = apply_profile("tensorrt", entries);
  ASSERT_EQ(notes.size(), 2U);
  for (const ProfileNote& note : notes) EXPECT_FALSE(note.refused) << note.what;
  for (const FileEntry& entry : entries) {
    EXPECT_TRUE(entry.signed_codes);
    EXPECT_EQ(exporting::zero_point(entry, 0), 0);
  }
  EXPECT_NEAR(entries[0].cells[0].delta, 25.5 / 127.0, 1e-12);
  EXPECT_THAT(notes[0].what, HasSubstr("half of the codes"));
  EXPECT_THAT(notes[0].what, HasSubstr("2.01 times"));
  EXPECT_TRUE(notes[0].repaired);
}

TEST(TargetProfile, OfTensorrtRefusesSixteenBitsByName) {
  std::vector<FileEntry> entries = {relu_output()};
  entries[0].format = Format::integer(16);
  const std::vector<ProfileNote> notes = apply_profile("tensorrt", entries);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes[0].refused);
  EXPECT_EQ(notes[0].tensor, "r");
}

TEST(TargetProfile, OfHtpMakesChannelsSymmetricAndKeepsActivations) {
  std::vector<FileEntry> entries = {relu_output(), channels_with_zero_points()};
  const std::vector<ProfileNote> notes = apply_profile("qnn_htp", entries);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].tensor, "w");
  EXPECT_EQ(entries[0].cells[0].delta, 0.1);
  EXPECT_EQ(exporting::zero_point(entries[1], 0), 0);
}

FileEntry weight(int bits) {
  FileEntry entry = relu_output();
  entry.name = "w";
  entry.parameter = entry.symmetric = entry.signed_codes = true;
  entry.format = Format::integer(bits);
  const double least = -std::ldexp(1.0, bits - 1);
  entry.cells = {{.min = 0.01 * least, .max = -0.01 * (least + 1), .delta = 0.01, .offset = least}};
  return entry;
}

std::vector<ProfileNote> notes_of(const std::string& profile, int bits, int activation_bits,
                                  const std::vector<exporting::WeightUse>& uses) {
  std::vector<FileEntry> entries = {relu_output(), weight(bits)};
  entries[0].format = Format::integer(activation_bits);
  std::vector<ProfileNote> notes = apply_profile(profile, entries, uses);
  std::erase_if(notes, [](const ProfileNote& note) { return !note.refused; });
  return notes;
}

TEST(TargetProfile, OfTensorrtHasFourBitsInMatrixProductsOnly) {
  EXPECT_TRUE(notes_of("tensorrt", 4, 8, {{"w", "MatMul", "r"}}).empty());
  EXPECT_TRUE(notes_of("tensorrt", 8, 8, {{"w", "Conv", "r"}}).empty());
  EXPECT_TRUE(notes_of("tensorrt", 4, 8, {{"other", "Conv", "r"}}).empty());
  const auto notes = notes_of("tensorrt", 4, 8, {{"w", "Gemm", "r"}, {"w", "Conv", "r"}});
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0].what, HasSubstr("4 bits in Conv"));
}

TEST(TargetProfile, OfHtpLooksAtThePairOfEachOperator) {
  EXPECT_TRUE(notes_of("qnn_htp", 16, 8, {{"w", "Conv", "wide"}}).empty());
  EXPECT_TRUE(notes_of("qnn_htp", 16, 16, {{"w", "Conv", "r"}}).empty());
  EXPECT_TRUE(notes_of("qnn_htp", 4, 16, {{"w", "Conv", "r"}}).empty());
  const auto wide = notes_of("qnn_htp", 16, 8, {{"w", "Conv", "r"}});
  ASSERT_EQ(wide.size(), 1U);
  EXPECT_THAT(wide[0].what, HasSubstr("in Conv: give \"r\" 16 bits"));
  const auto narrow = notes_of("qnn_htp", 4, 8, {{"w", "LSTM", "r"}});
  ASSERT_EQ(narrow.size(), 1U);
  EXPECT_THAT(narrow[0].what, HasSubstr("4 bits in LSTM"));
}

TEST(TargetProfile, OfTheCpuTellsWhereSumsMaySaturate) {
  std::vector<FileEntry> entries = {relu_output(), channels_with_zero_points()};
  const std::vector<ProfileNote> notes = apply_profile("ort_cpu", entries);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0].what, HasSubstr("32767"));
}

TEST(TargetProfile, ThatNobodyKnowsIsRefusedWithTheKnownOnes) {
  std::vector<FileEntry> entries;
  try {
    apply_profile("abacus", entries);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("onnx, ort_cpu, qnn_htp, tensorrt"));
  }
}

TEST(TargetProfile, IsAppliedToTheWrittenModel) {
  const Model model = nets().front().second;
  Simulation sim(model);
  calibrate(sim, samples(model, 1));
  EXPECT_NE(to_onnx_qdq(sim, {.profile = "tensorrt"}).content_hash(),
            to_onnx_qdq(sim).content_hash());
  EXPECT_FALSE(profile_notes(sim, {.profile = "tensorrt"}).empty());
  EXPECT_TRUE(profile_notes(sim, {}).empty());
  Simulation wide(model, {.activation_format = Format::integer(16)});
  calibrate(wide, samples(model, 1));
  EXPECT_THROW(to_onnx_qdq(wide, {.profile = "tensorrt"}), Error);
}

}  // namespace
}  // namespace bitsweep
