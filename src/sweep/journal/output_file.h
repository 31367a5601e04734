#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include "bitsweep/tensor.h"

namespace bitsweep::journal {

/// Model outputs one after another in one file. A record carries a checksum, so that one which was
/// cut off or damaged is absent, never wrong. Thread-safe.
class OutputFile {
 public:
  /// Opens or makes the file. @throws Error(kIo).
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Bytes that a record of these outputs takes.
  static std::int64_t record_bytes(const std::vector<Tensor>& outputs);
  /// Position of the new record. @throws Error(kIo): the disk is full.
  std::int64_t append(const std::vector<Tensor>& outputs);
  /// The outputs at a position; nullopt when no whole record begins there.
  std::optional<std::vector<Tensor>> read(std::int64_t position) const;
  std::int64_t size_bytes() const;
  /// New records go behind this position, also when the file was cut off before it: a position that
  /// somebody remembers must never come to hold another record.
  void skip_to(std::int64_t position);

 private:
  std::filesystem::path path_;
  int file_ = -1;
  mutable std::mutex mutex_;
  std::int64_t size_ = 0;
};

}  // namespace bitsweep::journal
