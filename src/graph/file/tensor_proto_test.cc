#include "graph/file/tensor_proto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "bitsweep/error.h"

namespace bitsweep::graph {
namespace {

onnx::TensorProto make(DataType type, const Shape& shape) {
  onnx::TensorProto t;
  t.set_name("w");
  t.set_data_type(static_cast<int>(type));
  for (const std::int64_t d : shape) t.add_dims(d);
  return t;
}

Tensor read(const onnx::TensorProto& t) { return read_tensor(t, {}, nullptr); }

std::string bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.data()), t.size_bytes()};
}

template <typename T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

TEST(ReadTensor, TypedFieldAndRawDataGiveTheSameBytes) {
  onnx::TensorProto f = make(DataType::kFloat, {2});
  f.add_float_data(1.5F);
  f.add_float_data(-2.0F);
  EXPECT_EQ(bytes_of(read(f)), raw<float>({1.5F, -2.0F}));
  onnx::TensorProto r = make(DataType::kFloat, {2});
  r.set_raw_data(raw<float>({1.5F, -2.0F}));
  EXPECT_TRUE(read(f).equal_bits(read(r)));
}

TEST(ReadTensor, Int32DataCarriesEveryNarrowType) {
  for (const DataType type :
       {DataType::kFloat16, DataType::kBfloat16, DataType::kInt16, DataType::kUint16}) {
    onnx::TensorProto t = make(type, {2});
    t.add_int32_data(0x3FC0);
    t.add_int32_data(0xC000);
    EXPECT_EQ(bytes_of(read(t)), raw<std::uint16_t>({0x3FC0, 0xC000})) << data_type_name(type);
  }
  for (const DataType type :
       {DataType::kInt8, DataType::kUint8, DataType::kBool, DataType::kFloat8E4M3FN,
        DataType::kFloat8E5M2, DataType::kFloat8E8M0}) {
    onnx::TensorProto t = make(type, {2});
    t.add_int32_data(1);
    t.add_int32_data(type == DataType::kInt8 ? -3 : 0xFD);
    EXPECT_EQ(bytes_of(read(t)), raw<std::uint8_t>({0x01, 0xFD})) << data_type_name(type);
  }
  onnx::TensorProto t = make(DataType::kInt32, {2});
  t.add_int32_data(-7);
  t.add_int32_data(70000);
  EXPECT_EQ(bytes_of(read(t)), raw<std::int32_t>({-7, 70000}));
}

TEST(ReadTensor, PackedTypesKeepTheirBytes) {
  onnx::TensorProto four = make(DataType::kInt4, {3});
  four.add_int32_data(0x21);
  four.add_int32_data(0x03);
  EXPECT_EQ(bytes_of(read(four)), std::string("\x21\x03", 2));
  onnx::TensorProto two = make(DataType::kUint2, {4});
  two.add_int32_data(0xE4);
  EXPECT_EQ(bytes_of(read(two)), std::string("\xE4", 1));
}

TEST(ReadTensor, SixBitCodesArePackedFourIntoThreeBytes) {
  onnx::TensorProto t = make(DataType::kFloat6E2M3, {5});
  for (const int code : {0x01, 0x3F, 0x20, 0x15, 0x2A}) t.add_int32_data(code);
  // 000001 111111 100000 010101 | 101010, low bits first.
  EXPECT_EQ(bytes_of(read(t)), std::string("\xC1\x0F\x56\x2A", 4));
}

TEST(ReadTensor, WideFieldsCarryTheirTypes) {
  onnx::TensorProto i = make(DataType::kInt64, {1});
  i.add_int64_data(-5);
  EXPECT_EQ(bytes_of(read(i)), raw<std::int64_t>({-5}));
  onnx::TensorProto u = make(DataType::kUint32, {1});
  u.add_uint64_data(0xFFFFFFFFU);
  EXPECT_EQ(bytes_of(read(u)), raw<std::uint32_t>({0xFFFFFFFFU}));
  onnx::TensorProto d = make(DataType::kComplex128, {1});
  d.add_double_data(1.0);
  d.add_double_data(2.0);
  EXPECT_EQ(bytes_of(read(d)), raw<double>({1.0, 2.0}));
  onnx::TensorProto c = make(DataType::kComplex64, {1});
  c.add_float_data(3.0F);
  c.add_float_data(4.0F);
  EXPECT_EQ(bytes_of(read(c)), raw<float>({3.0F, 4.0F}));
}

TEST(ReadTensor, ScalarsAndEmptyTensorsAreFine) {
  onnx::TensorProto scalar = make(DataType::kFloat, {});
  scalar.add_float_data(4.0F);
  EXPECT_EQ(read(scalar).size(), 1);
  EXPECT_EQ(read(make(DataType::kFloat, {0, 3})).size(), 0);
  EXPECT_EQ(read(make(DataType::kInt64, {0})).shape(), Shape({0}));
}

TEST(ReadTensor, UnalignedStoredBytesAreCopied) {
  alignas(8) const char buffer[9] = {0, 0, 0, (char)0x80, 0x3F, 0, 0, 0, 0x40};
  onnx::TensorProto t = make(DataType::kFloat, {2});
  mark_stored(&t, 0);
  const StoredBytes stored{nullptr, reinterpret_cast<const std::byte*>(buffer) + 1, 8, nullptr};
  const Tensor value = read_tensor(t, {&stored, 1}, nullptr);
  EXPECT_EQ(value.floats()[0], 1.0F);
  EXPECT_EQ(value.floats()[1], 2.0F);
}

std::string message(const onnx::TensorProto& t) {
  try {
    check_tensor(t, {});
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kInvalidModel);
    return e.what();
  }
  return "no error";
}

TEST(CheckTensor, NamesTheTensorAndWhatIsWrong) {
  onnx::TensorProto t = make(DataType::kFloat, {2, 2});
  t.set_raw_data(std::string(12, '\0'));
  EXPECT_THAT(message(t), testing::HasSubstr(
                              "\"w\" of type float32 and shape [2,2] needs 16 bytes but holds 12"));
  EXPECT_THAT(message(make(DataType::kFloat, {3})),
              testing::HasSubstr("needs 3 values but holds 0"));
  EXPECT_THAT(message(make(DataType::kFloat, {-1})), testing::HasSubstr("negative dimension -1"));
  EXPECT_THAT(message(make(static_cast<DataType>(99), {1})), testing::HasSubstr("element type 99"));
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_THAT(message(make(DataType::kFloat, {huge, huge})), testing::HasSubstr("too large"));
}

TEST(ReadSparse, LinearAndCoordinateIndicesGiveTheSameTensor) {
  onnx::SparseTensorProto sparse;
  *sparse.mutable_values() = make(DataType::kFloat, {2});
  sparse.mutable_values()->add_float_data(5.0F);
  sparse.mutable_values()->add_float_data(7.0F);
  sparse.add_dims(2);
  sparse.add_dims(3);
  *sparse.mutable_indices() = make(DataType::kInt64, {2});
  sparse.mutable_indices()->add_int64_data(1);
  sparse.mutable_indices()->add_int64_data(5);
  const Tensor linear = read_sparse(sparse, {});
  EXPECT_THAT(linear.floats(), testing::ElementsAre(0, 5, 0, 0, 0, 7));
  *sparse.mutable_indices() = make(DataType::kInt64, {2, 2});
  for (const int c : {0, 1, 1, 2}) sparse.mutable_indices()->add_int64_data(c);
  EXPECT_TRUE(read_sparse(sparse, {}).equal_bits(linear));
  sparse.mutable_indices()->set_int64_data(3, 3);
  EXPECT_THROW(read_sparse(sparse, {}), Error);
  sparse.mutable_indices()->set_int64_data(3, 2);
  sparse.set_dims(0, std::int64_t{1} << 40);
  EXPECT_THROW(read_sparse(sparse, {}), Error);
}

TEST(WriteTensor, RoundTripsEveryBit) {
  onnx::TensorProto t = make(DataType::kBfloat16, {4});
  t.set_raw_data(raw<std::uint16_t>({0x3FC0, 0xC000, 0x0000, 0x4040}));
  onnx::TensorProto copy;
  write_tensor(read(t), "w", &copy);
  EXPECT_EQ(copy.SerializeAsString(), t.SerializeAsString());
}

}  // namespace
}  // namespace bitsweep::graph
