#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace bitsweep::graph {

/// A file mapped read-only for as long as the object lives. The file must not shrink meanwhile.
class MappedFile {
 public:
  /// @throws Error(kNotFound | kIo).
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace bitsweep::graph
