#pragma once

#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace bitsweep::testing {

/// A new empty folder that no other test, process or user shares; removed with all it holds.
class OwnFolder {
 public:
  OwnFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "bitsweep-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::filesystem::filesystem_error("no folder for a test", pattern,
                                              std::error_code(errno, std::generic_category()));
    }
    path_ = pattern;
  }
  ~OwnFolder() {
    std::error_code ignored;  // what is left behind is no fault of the test
    std::filesystem::remove_all(path_, ignored);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace bitsweep::testing
