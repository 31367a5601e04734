#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "bitsweep/error.h"
#include "bitsweep/report.h"

namespace bitsweep {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::string& reason, const std::string& fix) {
  throw Error(ErrorCode::kIo, "report", "\"" + path.string() + "\" cannot be written: " + reason,
              fix);
}

std::string fix_for(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return "free some space, or choose another folder";
    case ENOENT:
      return "create the folder first";
    default:
      return "choose a folder that you may write to";
  }
}

// The file behind any links: a rename would replace the link itself.
fs::path target_of(const fs::path& path) {
  fs::path target = path;
  std::error_code error;
  for (int hops = 0; fs::is_symlink(fs::symlink_status(target, error)); ++hops) {
    const fs::path next = fs::read_symlink(target, error);
    if (error || hops == 40)
      fail(path, "its link leads in a circle", "remove the link, or choose another name");
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target;
}

// Writes all of the text to a new or emptied file; 0 or the errno of what failed.
int write_all(const fs::path& path, const std::string& text) {
  std::FILE* file = std::fopen(path.string().c_str(), "wb");
  if (file == nullptr) return errno;
  int error = 0;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), file) != text.size())
    error = errno != 0 ? errno : EIO;
  // A full disk may show only when buffers are flushed or the file is closed.
  if (std::fflush(file) != 0 && error == 0) error = errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

void write_text_file(const fs::path& path, const std::string& text) {
  const fs::path target = target_of(path);
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status)) fail(path, "it is a folder", "give the name of a file");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (const int code = write_all(target, text)) fail(path, std::strerror(code), fix_for(code));
    return;
  }
  // In the same folder, because a rename cannot cross file systems; the numbers keep parallel
  // writers apart.
  static std::atomic<int> counter{0};
  fs::path aside = target;
  aside += ".part-" + std::to_string(getpid()) + "-" + std::to_string(counter++);
  if (const int code = write_all(aside, text)) {
    fs::remove(aside, error);
    fail(path, std::strerror(code), fix_for(code));
  }
  if (fs::exists(status)) fs::permissions(aside, status.permissions(), error);
  fs::rename(aside, target, error);
  if (error) {
    const std::string reason = error.message();
    fs::remove(aside, error);
    fail(path, reason, "choose a folder that you may write to");
  }
}

}  // namespace bitsweep
