#pragma once

#include <filesystem>
#include <string>

namespace bitsweep::exporting {

/// A text file written under a temporary name beside its target; commit() renames it, otherwise it
/// is removed.
class AsideFile {
 public:
  /// @throws Error(kIo).
  AsideFile(std::filesystem::path target, const std::string& text);
  ~AsideFile();
  AsideFile(const AsideFile&) = delete;
  AsideFile& operator=(const AsideFile&) = delete;

  /// @throws Error(kIo).
  void commit();

 private:
  std::filesystem::path target_;
  std::filesystem::path aside_;
  bool committed_ = false;
};

}  // namespace bitsweep::exporting
