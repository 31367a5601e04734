#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "bitsweep/error.h"
#include "data/byte_stream.h"

namespace bitsweep::data {
namespace {

class FileStream final : public ByteStream {
 public:
  explicit FileStream(const std::filesystem::path& path)
      : name_(path.string()),
        size_(std::filesystem::file_size(path)),
        stream_(path, std::ios::binary) {}

  void read(void* to, std::size_t size) override {
    stream_.read(static_cast<char*>(to), static_cast<std::streamsize>(size));
    if (static_cast<std::size_t>(stream_.gcount()) != size) {
      throw Error(ErrorCode::kInvalidData, "data", name_ + " ends too early",
                  "write the file again, it is truncated");
    }
  }
  std::uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  std::uint64_t size_;
  std::ifstream stream_;
};

}  // namespace

void require_readable_file(const std::filesystem::path& path) {
  std::error_code failure;
  const std::filesystem::file_status status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) {
    throw Error(ErrorCode::kNotFound, "data", path.string() + " does not exist", "check the path");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(ErrorCode::kIo, "data", path.string() + " is not a file", "check the path");
  }
  errno = 0;
  if (!std::ifstream(path, std::ios::binary)) {
    throw Error(ErrorCode::kIo, "data",
                path.string() + " cannot be opened: " + std::strerror(errno),
                "check the permissions of the file");
  }
  if (std::filesystem::file_size(path) == 0) {
    throw Error(ErrorCode::kInvalidData, "data", path.string() + " is empty",
                "write the file again");
  }
}

std::unique_ptr<ByteStream> open_file_stream(const std::filesystem::path& path) {
  require_readable_file(path);
  return std::make_unique<FileStream>(path);
}

}  // namespace bitsweep::data
