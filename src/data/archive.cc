#include <zip.h>

#include <algorithm>
#include <utility>

#include "bitsweep/error.h"
#include "data/byte_stream.h"

namespace bitsweep::data {
namespace {

constexpr std::string_view kSuffix = ".npy";

class MemberStream final : public ByteStream {
 public:
  MemberStream(zip_file_t* file, std::uint64_t size, std::string name)
      : file_(file), size_(size), name_(std::move(name)) {}
  ~MemberStream() override { zip_fclose(file_); }
  MemberStream(const MemberStream&) = delete;
  MemberStream& operator=(const MemberStream&) = delete;

  void read(void* to, std::size_t size) override {
    auto* at = static_cast<char*>(to);
    while (size > 0) {
      const std::size_t got = read_some(at, size);
      if (got == 0) {
        throw Error(ErrorCode::kInvalidData, "data", name_ + " ends too early",
                    "write the archive again, it is truncated");
      }
      at += got;
      size -= got;
      position_ += got;
    }
    // The checksum is compared when a read meets the end.
    char beyond = 0;
    if (position_ == size_) read_some(&beyond, 1);
  }
  std::uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }

 private:
  std::size_t read_some(char* to, std::size_t size) {
    const zip_int64_t got = zip_fread(file_, to, size);
    if (got < 0) {
      throw Error(ErrorCode::kInvalidData, "data",
                  name_ + " cannot be read: " + zip_file_strerror(file_),
                  "write the archive again, it is damaged");
    }
    return static_cast<std::size_t>(got);
  }

  zip_file_t* file_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  std::string name_;
};

}  // namespace

struct Archive::Handle {
  zip_t* zip = nullptr;
  ~Handle() {
    if (zip != nullptr) zip_discard(zip);
  }
};

Archive::Archive(const std::filesystem::path& path)
    : handle_(std::make_unique<Handle>()), path_(path) {
  require_readable_file(path);
  int code = 0;
  handle_->zip = zip_open(path.c_str(), ZIP_RDONLY, &code);
  if (handle_->zip == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw Error(ErrorCode::kInvalidData, "data",
                path.string() + " is not an .npz archive: " + reason, "write it with numpy.savez");
  }
  const zip_int64_t members = zip_get_num_entries(handle_->zip, 0);
  for (zip_int64_t i = 0; i < members; ++i) {
    const char* raw = zip_get_name(handle_->zip, static_cast<zip_uint64_t>(i), ZIP_FL_ENC_GUESS);
    const std::string name = raw == nullptr ? "" : raw;
    if (name.size() > kSuffix.size() && name.ends_with(kSuffix))
      names_.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
}

Archive::~Archive() = default;

std::unique_ptr<ByteStream> Archive::open(const std::string& name) {
  const std::string member = name + std::string(kSuffix);
  const std::string shown = path_.string() + "[" + name + "]";
  zip_stat_t stat;
  zip_stat_init(&stat);
  zip_file_t* file = nullptr;
  if (zip_stat(handle_->zip, member.c_str(), 0, &stat) == 0)
    file = zip_fopen(handle_->zip, member.c_str(), 0);
  if (file == nullptr) {
    throw Error(ErrorCode::kInvalidData, "data",
                shown + " cannot be opened: " + zip_strerror(handle_->zip),
                "write the archive again with numpy.savez");
  }
  return std::make_unique<MemberStream>(file, stat.size, shown);
}

}  // namespace bitsweep::data
