#include "sweep/journal/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "bitsweep/error.h"

namespace bitsweep::journal {

FolderLock::FolderLock(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "journal.lock";
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    throw Error(ErrorCode::kIo, "run directory",
                folder.string() + " cannot be written: " + std::strerror(errno),
                "choose a folder that you may write to");
  }
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) {
    const std::string process = std::to_string(getpid()) + "\n";
    // Only for the message below: who holds the lock does not depend on it.
    if (ftruncate(file_, 0) == 0 &&
        pwrite(file_, process.data(), process.size(), 0) != static_cast<ssize_t>(process.size()))
      errno = 0;
    return;
  }
  std::array<char, 32> text{};
  const ssize_t size = pread(file_, text.data(), text.size(), 0);
  std::string process(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  process = process.substr(0, process.find('\n'));
  close(file_);
  throw Error(ErrorCode::kNotReady, "run directory",
              folder.string() + " is in use by another sweep" +
                  (process.empty() ? "" : " (process " + process + ")"),
              "wait until that one ends, or give another folder");
}

FolderLock::~FolderLock() { close(file_); }

}  // namespace bitsweep::journal
