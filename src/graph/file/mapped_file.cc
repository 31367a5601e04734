#include "graph/file/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "bitsweep/error.h"

namespace bitsweep::graph {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, int code) {
  if (code == ENOENT || code == ENOTDIR) {
    throw Error(ErrorCode::kNotFound, "model",
                fmt::format("there is no file \"{}\"", path.string()), "check the path");
  }
  throw Error(ErrorCode::kIo, "model",
              fmt::format("cannot read \"{}\": {}", path.string(), std::strerror(code)),
              "check that it is a file and that you may read it");
}

// All files that are mapped now. Only pages of these may be given back: elsewhere the same call
// would fill memory with zeros.
struct Mappings {
  std::mutex mutex;
  std::map<const std::byte*, std::size_t> size_at;
};

Mappings& mappings() {
  static Mappings all;
  return all;
}

struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
};

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(path, errno);
  const Descriptor guard{fd};
  struct stat info{};
  if (::fstat(fd, &info) != 0) fail(path, errno);
  if (S_ISDIR(info.st_mode)) fail(path, EISDIR);
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile({}));
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) fail(path, errno);
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(address), size}));
}

MappedFile::MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {
  if (bytes.empty()) return;
  const std::lock_guard lock(mappings().mutex);
  mappings().size_at.emplace(bytes.data(), bytes.size());
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  const std::lock_guard lock(mappings().mutex);
  mappings().size_at.erase(bytes_.data());
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void give_back_pages(const Tensor& value) {
  if (!value.defined() || value.size_bytes() == 0) return;
  const auto* begin = static_cast<const std::byte*>(value.data());
  const std::lock_guard lock(mappings().mutex);
  const auto& size_at = mappings().size_at;
  const auto next = size_at.upper_bound(begin);
  if (next == size_at.begin()) return;
  const auto& [file, size] = *std::prev(next);
  const auto offset = static_cast<std::size_t>(begin - file);
  if (offset >= size || value.size_bytes() > size - offset) return;
  // Neighbours on the first and the last page come back like the rest. A refusal costs memory only.
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t first = offset / page * page;
  ::madvise(const_cast<std::byte*>(file) + first, offset - first + value.size_bytes(),
            MADV_DONTNEED);
}

}  // namespace bitsweep::graph
