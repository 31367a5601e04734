#include "export/aside_file.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "bitsweep/error.h"

namespace bitsweep::exporting {
namespace {

[[noreturn]] void fail(const std::filesystem::path& target, const std::string& reason) {
  throw Error(ErrorCode::kIo, "export", "\"" + target.string() + "\" cannot be written: " + reason,
              "choose a folder that you may write to and that has room");
}

}  // namespace

AsideFile::AsideFile(std::filesystem::path target, const std::string& text)
    : target_(std::move(target)) {
  static std::atomic<int> counter{0};
  if (std::filesystem::is_directory(target_)) fail(target_, "it is a folder");
  aside_ = target_;
  aside_ += "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".tmp";
  errno = 0;
  std::ofstream stream(aside_, std::ios::binary | std::ios::trunc);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  stream.close();
  if (!stream) {
    const std::string reason = errno != 0 ? std::strerror(errno) : "the disk refused it";
    std::error_code ignored;
    std::filesystem::remove(aside_, ignored);
    fail(target_, reason);
  }
}

AsideFile::~AsideFile() {
  if (committed_) return;
  std::error_code ignored;
  std::filesystem::remove(aside_, ignored);
}

void AsideFile::commit() {
  std::error_code error;
  std::filesystem::rename(aside_, target_, error);
  if (error) fail(target_, error.message());
  committed_ = true;
}

}  // namespace bitsweep::exporting
