#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "bitsweep/tensor.h"

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
  explicit MappedFile(std::span<const std::byte> bytes);
  std::span<const std::byte> bytes_;
};

/// For a value in a mapped file that is not read again soon: its pages no longer count as memory of
/// this process, and come back from the file with the next read. Other values stay as they are.
void give_back_pages(const Tensor& value);

}  // namespace bitsweep::graph
