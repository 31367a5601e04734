#include "graph/file/tensor_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/own_folder.h"
#include "bitsweep/error.h"
#include "graph/file/tensor_proto.h"

namespace bitsweep::graph {
namespace {

class TensorFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& bytes) const {
    const std::filesystem::path path = folder_.path() / "tensor.pb";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string error_of(const std::filesystem::path& path) const {
    try {
      read_tensor_file(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const bitsweep::testing::OwnFolder folder_;
};

TEST_F(TensorFile, GivesNameTypeShapeAndValues) {
  onnx::TensorProto proto;
  proto.set_name("x");
  proto.set_data_type(onnx::TensorProto::FLOAT);
  proto.add_dims(1);
  proto.add_dims(2);
  proto.add_float_data(1.5F);
  proto.add_float_data(-2.0F);
  const NamedTensor tensor = read_tensor_file(write(proto.SerializeAsString()));
  EXPECT_EQ(tensor.name, "x");
  EXPECT_EQ(tensor.value.shape(), (Shape{1, 2}));
  EXPECT_EQ(tensor.value.floats()[0], 1.5F);
  EXPECT_EQ(tensor.value.floats()[1], -2.0F);
}

TEST_F(TensorFile, EmptyForeignAndShortFilesAreErrorsThatNameTheFile) {
  const std::filesystem::path empty = write("");
  EXPECT_NE(error_of(empty).find(empty.string()), std::string::npos) << error_of(empty);
  EXPECT_NE(error_of(write("hello, this is text")).find("no ONNX tensor"), std::string::npos);
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::FLOAT);
  proto.add_dims(4);
  proto.set_raw_data("1234");
  EXPECT_NE(error_of(write(proto.SerializeAsString())).find("damaged tensor"), std::string::npos);
  EXPECT_THROW(read_tensor_file("/nowhere/input_0.pb"), Error);
}

}  // namespace
}  // namespace bitsweep::graph
