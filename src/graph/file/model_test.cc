#include "bitsweep/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>

#include "base/testing/own_folder.h"
#include "bitsweep/error.h"
#include "graph/graph.h"
#include "graph/testing/model_builder.h"
#include "graph/testing/model_builder_impl.h"

namespace bitsweep {
namespace {

using graph::Graph;
using graph::testing::ModelBuilder;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ModelFiles : public ::testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  const bitsweep::testing::OwnFolder own_;
  const fs::path folder_ = own_.path();
};

std::string error_of(const std::function<void()>& action, ErrorCode code) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "no error";
}

std::string load_error(const fs::path& path, ErrorCode code = ErrorCode::kInvalidModel) {
  return error_of([&] { Model::load(path); }, code);
}

ModelBuilder mlp() {
  ModelBuilder m;
  m.input("x", {-1, 64}).output("y", DataType::kFloat);
  m.random("w1", {64, 64}, 1).random("w2", {64, 8}, 2).random("b", {8}, 3);
  m.node("h = MatMul(x, w1)").node("r = Relu(h)").node("y = Gemm(r, w2, b)");
  return m;
}

TEST_F(ModelFiles, LoadListsInputsOutputsAndVersions) {
  const Model model = Model::load(write("m.onnx", mlp().bytes()));
  ASSERT_EQ(model.inputs().size(), 1U);
  EXPECT_EQ(model.inputs()[0].name, "x");
  EXPECT_EQ(model.inputs()[0].type, DataType::kFloat);
  ASSERT_EQ(model.inputs()[0].shape.size(), 2U);
  EXPECT_EQ(model.inputs()[0].shape[0].size, -1);
  EXPECT_EQ(model.inputs()[0].shape[0].name, "d0");
  EXPECT_EQ(model.inputs()[0].shape[1].size, 64);
  EXPECT_EQ(model.outputs()[0].name, "y");
  EXPECT_FALSE(model.outputs()[0].has_shape);
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.opset(), 17);
  EXPECT_EQ(model.num_nodes(), 3U);
}

TEST_F(ModelFiles, InitializersListedAsInputsNeedNotBeFed) {
  ModelBuilder m = mlp();
  m.ir_version(3).input("w1", {64, 64}).input("w2", {64, 8}).input("b", {8});
  EXPECT_EQ(m.model().inputs().size(), 1U);
}

TEST_F(ModelFiles, SaveWritesBackTheSameBytes) {
  const std::string bytes = mlp().bytes();
  const Model model = Model::load(write("m.onnx", bytes));
  model.save(folder_ / "copy.onnx");
  EXPECT_EQ(read(folder_ / "copy.onnx"), bytes);
  EXPECT_EQ(read(folder_ / "m.onnx"), bytes);
  model.save(folder_ / "m.onnx");  // over itself
  EXPECT_EQ(read(folder_ / "m.onnx"), bytes);
  EXPECT_EQ(files(), (std::vector<std::string>{"copy.onnx", "m.onnx"}));
}

TEST_F(ModelFiles, ExternalDataOnRequestMakesTheModelSmall) {
  const Model model = mlp().model();
  model.save(folder_ / "m.onnx", {.external_data = ExternalData::kAlways});
  EXPECT_EQ(files(), (std::vector<std::string>{"m.onnx", "m.onnx.data"}));
  EXPECT_LT(fs::file_size(folder_ / "m.onnx"), 1000U);
  EXPECT_GE(fs::file_size(folder_ / "m.onnx.data"), 64U * 72U * 4U);
  const Model back = Model::load(folder_ / "m.onnx");
  EXPECT_EQ(back.content_hash(), model.content_hash());
  back.save(folder_ / "one.onnx", {.external_data = ExternalData::kNever});
  EXPECT_EQ(read(folder_ / "one.onnx"), mlp().bytes());
  // Rewriting the pair that is mapped right now must not disturb it.
  back.save(folder_ / "m.onnx", {.external_data = ExternalData::kAlways});
  EXPECT_EQ(Model::load(folder_ / "m.onnx").content_hash(), model.content_hash());
}

TEST_F(ModelFiles, ExternalDataOnRequestHoldsEvenSmallWeights) {
  ModelBuilder m;
  m.input("x", {2}).output("y").floats("w", {2}, {1, 2}).node("y = Add(x, w)");
  m.model().save(folder_ / "m.onnx", {.external_data = ExternalData::kAlways});
  EXPECT_EQ(fs::file_size(folder_ / "m.onnx.data"), 8U);
  EXPECT_EQ(Model::load(folder_ / "m.onnx").content_hash(), m.model().content_hash());
}

TEST_F(ModelFiles, WeightsOverTheLimitNeverStayInline) {
  ModelBuilder m;
  m.input("x", {-1, 64}).output("y");
  m.random("w1", {64, 64}, 1).random("w2", {64, 64}, 2);
  m.node("h = MatMul(x, w1)").node("y = MatMul(h, w2)");
  const Model model = m.model();
  model.save(folder_ / "big.onnx", {.inline_limit_bytes = 16 * 1024});
  EXPECT_LT(fs::file_size(folder_ / "big.onnx"), 1000U);
  EXPECT_EQ(Model::load(folder_ / "big.onnx").content_hash(), model.content_hash());
  model.save(folder_ / "small.onnx", {.inline_limit_bytes = 64 * 1024});
  EXPECT_EQ(files(), (std::vector<std::string>{"big.onnx", "big.onnx.data", "small.onnx"}));
}

TEST_F(ModelFiles, ManySmallTensorsAndConstantsGoOutsideTooWhenTheyPassTheLimit) {
  ModelBuilder m;
  m.input("x", {64}).output("y");
  std::string previous = "x";
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    m.random("b" + n, {64}, static_cast<std::uint64_t>(i));  // 256 bytes each
    m.node("s" + n + " = Add(" + previous + ", b" + n + ")");
    previous = "s" + n;
  }
  m.node("y = Relu(" + previous + ")");
  const Model model = m.model();
  model.save(folder_ / "m.onnx", {.inline_limit_bytes = 1024});
  EXPECT_GE(fs::file_size(folder_ / "m.onnx.data"), 20U * 256U);
  EXPECT_EQ(Model::load(folder_ / "m.onnx").content_hash(), model.content_hash());
}

TEST_F(ModelFiles, FailedSaveLeavesNothingBehind) {
  const Model model = mlp().model();
  EXPECT_THAT(
      error_of([&] { model.save(folder_ / "absent" / "m.onnx"); }, ErrorCode::kIo),
      HasSubstr("absent/m.onnx\": No such file or directory; check that the folder exists"));
  fs::create_directories(folder_ / "taken.onnx");
  EXPECT_NE(
      error_of(
          [&] { model.save(folder_ / "taken.onnx", {.external_data = ExternalData::kAlways}); },
          ErrorCode::kIo),
      "no error");
  EXPECT_EQ(files(), (std::vector<std::string>{"taken.onnx"}));
}

TEST(ContentHash, DependsOnContentAndNotOnStorage) {
  ModelBuilder raw = mlp();
  ModelBuilder typed = mlp();
  for (onnx::TensorProto& t : *typed.impl().proto.mutable_graph()->mutable_initializer()) {
    const std::string data = t.raw_data();
    t.clear_raw_data();
    for (std::size_t i = 0; i < data.size(); i += 4) {
      float value = 0;
      std::memcpy(&value, data.data() + i, 4);
      t.add_float_data(value);
    }
  }
  EXPECT_NE(raw.bytes(), typed.bytes());
  EXPECT_EQ(raw.model().content_hash(), typed.model().content_hash());
  EXPECT_EQ(raw.model().content_hash().size(), 64U);

  (*raw.impl().proto.mutable_graph()->mutable_initializer(0)->mutable_raw_data())[5] ^= 1;
  EXPECT_NE(raw.model().content_hash(), typed.model().content_hash());
  ModelBuilder renamed = mlp();
  renamed.impl().proto.mutable_graph()->mutable_node(1)->set_op_type("Tanh");
  EXPECT_NE(renamed.model().content_hash(), typed.model().content_hash());
}

TEST_F(ModelFiles, EachBadFileGetsItsSentence) {
  const std::string bytes = mlp().bytes();
  EXPECT_THAT(load_error(folder_ / "absent.onnx", ErrorCode::kNotFound),
              HasSubstr("absent.onnx\"; check the path"));
  EXPECT_THAT(load_error(folder_, ErrorCode::kIo), HasSubstr("check that it is a file"));
  EXPECT_THAT(load_error(write("empty.onnx", "")), HasSubstr("empty.onnx\" is empty"));
  EXPECT_THAT(load_error(write("text.onnx", "hello, this is not a model\n")),
              HasSubstr("is not an ONNX model"));
  EXPECT_THAT(load_error(write("zip.onnx", std::string("PK\3\4\24\0\0\0", 8))),
              HasSubstr("is not an ONNX model"));
  EXPECT_THAT(load_error(write("zeros.onnx", std::string(100, '\0'))),
              HasSubstr("is not an ONNX model"));
  EXPECT_THAT(
      load_error(write("lfs.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")),
      HasSubstr("Git LFS pointer"));
  EXPECT_THAT(load_error(write("cut.onnx", bytes.substr(0, bytes.size() / 2))),
              HasSubstr("ends early"));
  EXPECT_THAT(load_error(write("old.onnx", mlp().ir_version(2).bytes())),
              HasSubstr("IR version 2"));
  std::string damaged = bytes;
  damaged.replace(20, 40, std::string(40, '\xFF'));
  EXPECT_THAT(load_error(write("damaged.onnx", damaged)), HasSubstr("damaged"));
}

TEST_F(ModelFiles, EveryPrefixOfAFileIsRefused) {
  ModelBuilder m;
  ModelBuilder body;
  body.node("t = Add(x, w)").output("t");
  m.input("x", {2}).input("c", {}, DataType::kBool).output("y").floats("w", {2}, {1, 2});
  m.node("y = If(c)", {{"then_branch", &body}, {"else_branch", &body}});
  const std::string bytes = m.bytes();
  EXPECT_NO_THROW(Graph(m.model()));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string prefix = bytes.substr(0, size);
    EXPECT_THROW(Model::parse(std::as_bytes(std::span(prefix.data(), prefix.size()))), Error)
        << size;
  }
}

TEST_F(ModelFiles, EveryFlippedByteIsReadOrRefusedButNeverCrashes) {
  ModelBuilder m;
  m.input("x", {1, 2}).output("y").floats("w", {2, 2}, {1, 2, 3, 4});
  m.node("h = MatMul(x, w)").node("y = Relu(h) {name: \"r\"}");
  const std::string bytes = m.bytes();
  int read = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      try {
        const Graph g(Model::parse(std::as_bytes(std::span(other.data(), other.size()))));
        (void)g.model().content_hash();
        ++read;
      } catch (const Error& e) {
        EXPECT_NE(std::string(e.what()), "");
      }
    }
  }
  EXPECT_GT(read, 0);
}

class ExternalModels : public ModelFiles {
 protected:
  /// A model whose weight is at the given place; the data file holds 64 bytes.
  fs::path external(std::vector<std::pair<std::string, std::string>> entries) {
    write("w.bin", std::string(64, '\1'));
    ModelBuilder m;
    m.input("x", {1, 4})
        .output("y")
        .floats("w", {4, 4}, std::vector<float>(16))
        .node("y = MatMul(x, w)");
    onnx::TensorProto* t = m.impl().proto.mutable_graph()->mutable_initializer(0);
    t->clear_raw_data();
    t->set_data_location(onnx::TensorProto::EXTERNAL);
    for (auto& [key, value] : entries) {
      onnx::StringStringEntryProto* e = t->add_external_data();
      e->set_key(key);
      e->set_value(value);
    }
    return write("m.onnx", m.bytes());
  }
};

TEST_F(ExternalModels, AreMappedWithAndWithoutOffsetAndLength) {
  const Graph whole(Model::load(external({{"location", "w.bin"}})));
  EXPECT_EQ(whole.static_value(whole.find("w")).size_bytes(), 64U);
  EXPECT_NO_THROW(
      Model::load(external({{"location", "./w.bin"}, {"offset", "0"}, {"length", "64"}})));
}

TEST_F(ExternalModels, ErrorsNameTheTensorAndTheFile) {
  EXPECT_THAT(
      load_error(external({{"location", "gone.bin"}}), ErrorCode::kNotFound),
      ::testing::AllOf(HasSubstr("tensor \"w\""), HasSubstr("gone.bin\", which does not exist")));
  EXPECT_THAT(load_error(external({{"location", "w.bin"}, {"offset", "16"}})),
              HasSubstr("tensor \"w\" needs bytes 16 to 80 of"));
  EXPECT_THAT(load_error(external({{"location", "w.bin"}, {"length", "60"}})),
              HasSubstr("has length 60"));
  EXPECT_THAT(load_error(external({{"location", "w.bin"}, {"offset", "x"}})),
              HasSubstr("\"x\", which is not a number"));
  EXPECT_THAT(load_error(external({{"location", "w.bin"}, {"offset", "18446744073709551615"}})),
              HasSubstr("needs bytes"));
  for (const char* outside : {"", "/etc/passwd", "../w.bin", "a/../../w.bin", ".."}) {
    EXPECT_THAT(load_error(external({{"location", outside}})),
                HasSubstr("not a file inside the model's folder"))
        << outside;
  }
}

}  // namespace
}  // namespace bitsweep
