#pragma once

#include <filesystem>

namespace bitsweep::journal {

/// Keeps a second process out of a run directory. The lock goes with the process, however it ends.
class FolderLock {
 public:
  /// @throws Error(kNotReady) that names the process which has it; Error(kIo).
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace bitsweep::journal
