#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace bitsweep::data {

/// Bytes read front to back.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Reads exactly `size` bytes. @throws Error(kInvalidData | kIo) when there are fewer or the
  /// medium fails.
  virtual void read(void* to, std::size_t size) = 0;
  /// Bytes in total.
  virtual std::uint64_t size() const = 0;
  /// Name for messages: "x.npy" or "eval.npz[x]".
  virtual const std::string& name() const = 0;
};

/// @throws Error(kNotFound | kIo | kInvalidData): missing, unreadable, a folder, or empty.
std::unique_ptr<ByteStream> open_file_stream(const std::filesystem::path& path);

/// A zip archive of arrays. Members are read as streams, so that memory holds one sample, not the
/// array; members that were stored without compression are read from their place in the file.
class Archive {
 public:
  /// @throws Error(kNotFound | kIo | kInvalidData): missing, unreadable, empty, or not a zip
  /// archive.
  explicit Archive(const std::filesystem::path& path);
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  /// Arrays in the archive (members "NAME.npy"), in file order.
  const std::vector<std::string>& names() const { return names_; }

  /// Streams may be open at the same time; the archive must outlive them. `name` is one of names().
  std::unique_ptr<ByteStream> open(const std::string& name);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
  std::filesystem::path path_;
  std::vector<std::string> names_;
};

/// @throws Error(kNotFound | kIo | kInvalidData) unless the path is a readable file with content.
void require_readable_file(const std::filesystem::path& path);

}  // namespace bitsweep::data
