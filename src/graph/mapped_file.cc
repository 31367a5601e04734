#include "graph/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

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

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace bitsweep::graph
