#include "data/layouts.h"

#include <gmock/gmock.h>

#include <limits>

#include "data/test_files.h"

namespace bitsweep::data {
namespace {

using testing::bytes;
using testing::counting;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::input;
using testing::npy;
using testing::write;
using testing::write_npz;

const std::vector<ValueInfo> kOne = {input("x", DataType::kFloat, {-1, 2})};
const std::vector<ValueInfo> kTwo = {input("x", DataType::kFloat, {-1, 2}),
                                     input("ids", DataType::kInt64, {-1, 1})};

// Minimal TensorProto: dims (field 1), data_type (2), name (8), raw_data (9).
std::string tensor_proto(const std::string& name, const std::vector<int>& dims,
                         const std::vector<float>& values) {
  std::string text;
  for (const int dim : dims) text += std::string("\x08") + static_cast<char>(dim);
  text += std::string("\x10\x01\x42") + static_cast<char>(name.size()) + name;
  text += std::string("\x4A") + static_cast<char>(values.size() * sizeof(float)) + bytes(values);
  return text;
}

class Layouts : public testing::FolderTest {
 protected:
  // First value of input x of every sample.
  static std::vector<float> first_values(SampleSource& source) {
    std::vector<float> values;
    Feed feed;
    while (source.next(&feed)) values.push_back(feed.at("x").floats()[0]);
    return values;
  }
  std::vector<float> open_and_read(const std::vector<ValueInfo>& inputs = kOne) {
    return first_values(*open_layout(folder_, inputs, {}));
  }
  std::string open_error(const std::filesystem::path& path,
                         const std::vector<ValueInfo>& inputs = kOne) {
    return error_of([&] { open_layout(path, inputs, {}); });
  }
};

TEST_F(Layouts, NpzFileStacksSamplesAndListsUnusedArrays) {
  write_npz(folder_ / "d.npz", {{"x", npy("<f4", "(3, 2)", counting(6))},
                                {"label", npy("<U3", "(1,)", std::string(12, 'a'))}});
  const auto source = open_layout(folder_ / "d.npz", kOne, {});
  EXPECT_EQ(source->size(), 3);
  EXPECT_THAT(source->unused(), ElementsAre("label"));
  EXPECT_THAT(first_values(*source), ElementsAre(0, 2, 4));
  Feed feed;
  EXPECT_FALSE(source->next(&feed)) << "stays at the end";
  source->rewind();
  EXPECT_THAT(first_values(*source), ElementsAre(0, 2, 4));
}

TEST_F(Layouts, BatchSizeAndMaxSamplesCutTheStack) {
  write_npz(folder_ / "d.npz", {{"x", npy("<f4", "(5, 2)", counting(10))}});
  const auto batches = open_layout(folder_ / "d.npz", kOne, {.max_samples = -1, .batch_size = 2});
  Feed feed;
  std::vector<std::int64_t> rows;
  while (batches->next(&feed)) rows.push_back(feed.at("x").shape()[0]);
  EXPECT_THAT(rows, ElementsAre(2, 2, 1));
  EXPECT_EQ(open_layout(folder_ / "d.npz", kOne, {.max_samples = 2, .batch_size = 0})->size(), 2);
  EXPECT_EQ(open_layout(folder_ / "d.npz", kOne, {.max_samples = 99, .batch_size = 0})->size(), 5);
}

TEST_F(Layouts, FolderOfNpzFilesIsReadInNaturalOrder) {
  for (const auto& [name, value] :
       {std::pair{"s10.npz", 10.0F}, std::pair{"s9.npz", 9.0F}, std::pair{"s1.npz", 1.0F}}) {
    write_npz(folder_ / name, {{"x", npy("<f4", "(1, 2)", bytes<float>({value, 0}))}});
  }
  EXPECT_THAT(open_and_read(), ElementsAre(1, 9, 10));
}

TEST_F(Layouts, FolderOfNpyFilesServesAModelWithOneInput) {
  write(folder_ / "b.npy", npy("<f4", "(2,)", bytes<float>({5, 6})));  // without batch dimension
  write(folder_ / "a.npy", npy("<f4", "(2, 2)", counting(4)));
  EXPECT_THAT(open_and_read(), ElementsAre(0, 2, 5));
  EXPECT_THAT(open_error(folder_, kTwo), HasSubstr("the model takes 2 inputs: \"x\", \"ids\""));
}

TEST_F(Layouts, SingleNpyFileServesAModelWithOneInput) {
  write(folder_ / "any.npy", npy("<f4", "(2, 2)", counting(4)));
  EXPECT_THAT(first_values(*open_layout(folder_ / "any.npy", kOne, {})), ElementsAre(0, 2));
  EXPECT_THAT(open_error(folder_ / "any.npy", kTwo), HasSubstr("save an .npz file"));
}

TEST_F(Layouts, FilesNamedAfterInputsAreStacks) {
  write(folder_ / "x.npy", npy("<f4", "(2, 2)", counting(4)));
  write(folder_ / "ids.npy", npy("<i8", "(2, 1)", bytes<std::int64_t>({1, 2})));
  write(folder_ / "labels.npy", npy("<i8", "(9,)", std::string(72, '\0')));
  EXPECT_THAT(open_and_read(kTwo), ElementsAre(0, 2));
  EXPECT_THAT(open_layout(folder_, kTwo, {})->unused(), ElementsAre("labels.npy"));
  std::filesystem::remove(folder_ / "ids.npy");
  EXPECT_THAT(open_error(folder_, kTwo), HasSubstr("no file for input \"ids\""));
}

TEST_F(Layouts, SubFoldersPairFilesByName) {
  for (const std::string name : {"1", "2"}) {
    write(folder_ / "x" / (name + ".npy"),
          npy("<f4", "(1, 2)", bytes<float>({std::stof(name), 0})));
    write(folder_ / "ids" / (name + ".npy"),
          npy("<i8", "(1, 1)", bytes<std::int64_t>({std::stoi(name)})));
  }
  EXPECT_THAT(open_and_read(kTwo), ElementsAre(1, 2));
  std::filesystem::remove(folder_ / "ids" / "1.npy");
  EXPECT_THAT(open_error(folder_, kTwo),
              HasSubstr("file 1.npy of input \"x\" has no partner of input \"ids\""));
  std::filesystem::remove(folder_ / "x" / "1.npy");
  write(folder_ / "ids" / "7.npy", npy("<i8", "(1, 1)", bytes<std::int64_t>({7})));
  EXPECT_THAT(open_error(folder_, kTwo),
              HasSubstr("file 7.npy of input \"ids\" has no partner of input \"x\""));
}

TEST_F(Layouts, MisnamedSubFolderSuggestsTheName) {
  write(folder_ / "x" / "1.npy", npy("<f4", "(1, 2)", counting(2)));
  write(folder_ / "idz" / "1.npy", npy("<i8", "(1, 1)", std::string(8, '\0')));
  EXPECT_THAT(open_error(folder_, kTwo), HasSubstr("rename \"idz\" to \"ids\""));
}

TEST_F(Layouts, InputNamesWithSlashesMatchFoldersWithUnderscores) {
  const std::vector<ValueInfo> inputs = {input("x", DataType::kFloat, {-1, 2}),
                                         input("a/b:0", DataType::kFloat, {-1, 2})};
  write(folder_ / "x" / "1.npy", npy("<f4", "(1, 2)", counting(2)));
  write(folder_ / "a_b_0" / "1.npy", npy("<f4", "(1, 2)", counting(2)));
  EXPECT_EQ(open_layout(folder_, inputs, {})->size(), 1);
}

TEST_F(Layouts, OnnxTestDataGivesOneSamplePerSet) {
  write(folder_ / "test_data_set_10" / "input_0.pb", tensor_proto("", {1, 2}, {10, 0}));
  write(folder_ / "test_data_set_2" / "input_0.pb", tensor_proto("", {1, 2}, {2, 0}));
  write(folder_ / "test_data_set_2" / "output_0.pb", "not read");
  EXPECT_THAT(open_and_read(), ElementsAre(2, 10));
  const auto one = open_layout(folder_ / "test_data_set_2", kOne, {});
  EXPECT_THAT(first_values(*one), ElementsAre(2));
}

TEST_F(Layouts, OnnxTestDataGoesByNameWhenFilesCarryNamesElseByNumber) {
  const std::vector<ValueInfo> inputs = {input("x", DataType::kFloat, {-1, 2}),
                                         input("y", DataType::kFloat, {-1, 2})};
  write(folder_ / "input_0.pb", tensor_proto("y", {1, 2}, {5, 0}));
  write(folder_ / "input_1.pb", tensor_proto("x", {1, 2}, {6, 0}));
  EXPECT_THAT(open_and_read(inputs), ElementsAre(6));
  write(folder_ / "input_1.pb", tensor_proto("other", {1, 2}, {7, 0}));
  EXPECT_THAT(open_and_read(inputs), ElementsAre(5));
  std::filesystem::remove(folder_ / "input_1.pb");
  EXPECT_THAT(open_error(folder_, inputs), HasSubstr("holds 1 input files, but the model takes 2"));
}

TEST_F(Layouts, OnnxTestDataIsCheckedAgainstTheModel) {
  write(folder_ / "input_0.pb", tensor_proto("x", {1, 3}, {1, 2, 3}));
  EXPECT_THAT(error_of([&] { open_and_read(); }), HasSubstr("make dimension 1 2 instead of 3"));
  write(folder_ / "input_0.pb",
        tensor_proto("x", {1, 2}, {1, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_THAT(error_of([&] { open_and_read(); }), HasSubstr("holds NaN in sample 0"));
}

TEST_F(Layouts, SampleCountsThatDifferNameBothInputs) {
  write_npz(folder_ / "d.npz", {{"x", npy("<f4", "(3, 2)", counting(6))},
                                {"ids", npy("<i8", "(2, 1)", bytes<std::int64_t>({1, 2}))}});
  EXPECT_THAT(open_error(folder_ / "d.npz", kTwo),
              HasSubstr("3 samples of input \"x\" and 2 of \"ids\""));
}

TEST_F(Layouts, ScalarArrayHoldsForEverySample) {
  const std::vector<ValueInfo> inputs = {input("x", DataType::kFloat, {-1, 2}),
                                         input("rate", DataType::kInt64, {})};
  write_npz(folder_ / "d.npz", {{"x", npy("<f4", "(2, 2)", counting(4))},
                                {"rate", npy("<i8", "()", bytes<std::int64_t>({16000}))}});
  const auto source = open_layout(folder_ / "d.npz", inputs, {});
  EXPECT_EQ(source->size(), 2);
  Feed feed;
  while (source->next(&feed))
    EXPECT_EQ(*static_cast<const std::int64_t*>(feed.at("rate").data()), 16000);
}

TEST_F(Layouts, TheOnlySampleOfAnInputHoldsForAllOfTheOthers) {
  const std::vector<ValueInfo> inputs = {input("state", DataType::kFloat, {1, -1}),
                                         input("x", DataType::kFloat, {-1, 2})};
  write_npz(folder_ / "d.npz", {{"x", npy("<f4", "(3, 2)", counting(6))},
                                {"state", npy("<f4", "(1, 4)", counting(4))}});
  const auto source = open_layout(folder_ / "d.npz", inputs, {});
  EXPECT_EQ(source->size(), 3);
  Feed feed;
  std::vector<float> seen;
  while (source->next(&feed)) {
    seen.push_back(feed.at("x").floats()[0]);
    EXPECT_EQ(feed.at("state").shape(), (Shape{1, 4}));
    EXPECT_EQ(feed.at("state").floats()[3], 3.0F);
  }
  EXPECT_THAT(seen, ElementsAre(0, 2, 4));
}

TEST_F(Layouts, NanIsFoundWhenItsSampleIsReadAndNotBefore) {
  write_npz(folder_ / "d.npz",
            {{"x", npy("<f4", "(2, 2)",
                       bytes<float>({1, 2, 3, std::numeric_limits<float>::quiet_NaN()}))}});
  const auto source = open_layout(folder_ / "d.npz", kOne, {});
  Feed feed;
  EXPECT_TRUE(source->next(&feed));
  for (int thread = 0; thread < 2; ++thread) {  // who asks again hears the same
    EXPECT_THAT(error_of([&] { source->next(&feed); }),
                HasSubstr("input \"x\" holds NaN in sample 1"));
  }
  source->rewind();
  EXPECT_TRUE(source->next(&feed));
}

TEST_F(Layouts, WhatCannotBeReadSaysWhatWould) {
  EXPECT_THAT(open_error(folder_), HasSubstr("is an empty folder; give an .npz file"));
  EXPECT_THAT(open_error(folder_ / "nowhere"), HasSubstr("does not exist"));
  write(folder_ / "t" / "notes.txt", "hello");
  EXPECT_THAT(open_error(folder_ / "t"), HasSubstr("holds no samples that bitsweep can read"));
  EXPECT_THAT(open_error(folder_ / "t" / "notes.txt"), HasSubstr("is no file of samples"));
  write(folder_ / "m" / "a.npy", npy("<f4", "(1, 2)", counting(2)));
  write_npz(folder_ / "m" / "b.npz", {{"x", npy("<f4", "(1, 2)", counting(2))}});
  EXPECT_THAT(open_error(folder_ / "m"), HasSubstr("both .npz and .npy"));
  write_npz(folder_ / "none.npz", {{"x", ""}});
  EXPECT_THAT(open_error(folder_ / "none.npz"), HasSubstr("none.npz[x] is no .npy array"));
}

}  // namespace
}  // namespace bitsweep::data
