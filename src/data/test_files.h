#pragma once

#include <gtest/gtest.h>
#include <zip.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/testing/own_folder.h"
#include "bitsweep/error.h"
#include "bitsweep/model.h"
#include "data/byte_stream.h"

namespace bitsweep::data::testing {

/// An .npy file as numpy writes it, header padded to 64 bytes.
inline std::string npy(const std::string& descr, const std::string& shape,
                       const std::string& elements, bool fortran = false) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': " + (fortran ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\x00';
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  return file + header + elements;
}

template <class T>
std::string bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// 0, 1, 2, ... as float32 elements.
inline std::string counting(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i);
  return bytes(values);
}

inline void write(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

inline void write_npz(const std::filesystem::path& path,
                      const std::map<std::string, std::string>& arrays, bool compress = true) {
  std::filesystem::create_directories(path.parent_path());
  int code = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  ASSERT_NE(zip, nullptr);
  for (const auto& [name, content] : arrays) {
    zip_source_t* source = zip_source_buffer(zip, content.data(), content.size(), 0);
    const zip_int64_t index = zip_file_add(zip, (name + ".npy").c_str(), source, 0);
    ASSERT_GE(index, 0);
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(index),
                             compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  ASSERT_EQ(zip_close(zip), 0);
}

inline ValueInfo input(const std::string& name, DataType type,
                       const std::vector<std::int64_t>& shape) {
  ValueInfo info{.name = name, .type = type, .has_shape = true, .shape = {}};
  for (const std::int64_t size : shape)
    info.shape.push_back({.size = size, .name = size < 0 ? "n" : ""});
  return info;
}

/// A file that exists in memory only.
class MemoryStream final : public ByteStream {
 public:
  explicit MemoryStream(std::string content) : content_(std::move(content)) {}
  void read(void* to, std::size_t size) override {
    if (size > content_.size() - at_)
      throw Error(ErrorCode::kInvalidData, "data", name_ + " ends too early", "");
    std::memcpy(to, content_.data() + at_, size);
    at_ += size;
  }
  std::uint64_t size() const override { return content_.size(); }
  const std::string& name() const override { return name_; }

 private:
  std::string content_;
  std::string name_ = "memory.npy";
  std::size_t at_ = 0;
};

/// A folder of its own for each test.
class FolderTest : public ::testing::Test {
 protected:
  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const bitsweep::testing::OwnFolder own_;
  const std::filesystem::path folder_ = own_.path();
};

}  // namespace bitsweep::data::testing
