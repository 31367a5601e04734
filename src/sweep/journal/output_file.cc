#include "sweep/journal/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "bitsweep/error.h"

namespace bitsweep::journal {
namespace {

// A record: kMagic, bytes of the payload, checksum of the payload; then for each tensor its type,
// rank, dimensions and elements.
constexpr std::uint64_t kMagic = 0x3174757074756f62ULL;  // "boutput1"

std::uint64_t checksum(const std::string& bytes) {
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a: finds damage, not malice
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    hash = (hash ^ word) * 1099511628211ULL;
    hash ^= hash >> 29;  // the high bits of a word must reach the low ones
  }
  return hash;
}

void put(std::string* out, const void* data, std::size_t size) {
  out->append(static_cast<const char*>(data), size);
}

template <class Number>
void put_number(std::string* out, Number value) {
  put(out, &value, sizeof value);
}

/// Takes values from the front of a payload; throws std::out_of_range at its end.
class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  const char* take(std::size_t size) {
    const char* at = bytes_.data() + position_;
    if (bytes_.size() - position_ < size) throw std::out_of_range("record");
    position_ += size;
    return at;
  }
  bool at_end() const { return position_ == bytes_.size(); }

 private:
  const std::string& bytes_;
  std::size_t position_ = 0;
};

std::vector<Tensor> parse(const std::string& payload) {
  std::vector<Tensor> outputs;
  Reader reader(payload);
  while (!reader.at_end()) {
    const auto type = static_cast<DataType>(reader.number<std::int32_t>());
    Shape shape(reader.number<std::uint32_t>());
    for (std::int64_t& d : shape) d = reader.number<std::int64_t>();
    Tensor tensor = Tensor::allocate(type, std::move(shape));
    const std::size_t bytes = tensor.size_bytes();
    const char* from = reader.take(bytes);
    if (bytes > 0) std::memcpy(tensor.mutable_data(), from, bytes);
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

bool read_all(int file, void* into, std::size_t size, std::int64_t position) {
  auto* at = static_cast<char*>(into);
  while (size > 0) {
    const ssize_t got = pread(file, at, size, position);
    if (got <= 0) return false;
    at += got;
    position += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

constexpr std::size_t kHeader = 3 * sizeof(std::uint64_t);

}  // namespace

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) {
    throw Error(ErrorCode::kIo, "run directory",
                path_.string() + " cannot be opened: " + std::strerror(errno),
                "choose a folder that you may write to");
  }
  size_ = lseek(file_, 0, SEEK_END);
}

OutputFile::~OutputFile() { close(file_); }

std::int64_t OutputFile::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

void OutputFile::skip_to(std::int64_t position) {
  const std::lock_guard lock(mutex_);
  size_ = std::max(size_, position);
}

std::int64_t OutputFile::record_bytes(const std::vector<Tensor>& outputs) {
  std::size_t bytes = kHeader;
  for (const Tensor& t : outputs)
    bytes += 2 * sizeof(std::int32_t) + t.shape().size() * sizeof(std::int64_t) + t.size_bytes();
  return static_cast<std::int64_t>(bytes);
}

std::int64_t OutputFile::append(const std::vector<Tensor>& outputs) {
  std::string payload;
  payload.reserve(static_cast<std::size_t>(record_bytes(outputs)));
  for (const Tensor& t : outputs) {
    put_number(&payload, static_cast<std::int32_t>(t.type()));
    put_number(&payload, static_cast<std::uint32_t>(t.shape().size()));
    for (const std::int64_t d : t.shape()) put_number(&payload, d);
    put(&payload, t.data(), t.size_bytes());
  }
  std::string record;
  record.reserve(kHeader + payload.size());
  put_number(&record, kMagic);
  put_number(&record, static_cast<std::uint64_t>(payload.size()));
  put_number(&record, checksum(payload));
  record += payload;

  const std::lock_guard lock(mutex_);
  const std::int64_t position = size_;
  std::size_t done = 0;
  while (done < record.size()) {
    const ssize_t wrote = pwrite(file_, record.data() + done, record.size() - done,
                                 position + static_cast<std::int64_t>(done));
    if (wrote > 0) {
      done += static_cast<std::size_t>(wrote);
    } else if (errno != EINTR) {
      const std::string reason = std::strerror(errno);
      throw Error(ErrorCode::kIo, "run directory", path_.string() + " cannot be written: " + reason,
                  "free some space, or give another folder");
    }
  }
  size_ += static_cast<std::int64_t>(record.size());
  return position;
}

std::optional<std::vector<Tensor>> OutputFile::read(std::int64_t position) const {
  std::uint64_t header[3] = {};
  if (!read_all(file_, header, sizeof header, position) || header[0] != kMagic) return std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    const auto left = static_cast<std::uint64_t>(size_ - position) - kHeader;
    if (header[1] > left) return std::nullopt;
  }
  std::string payload(header[1], '\0');
  if (!read_all(file_, payload.data(), payload.size(),
                position + static_cast<std::int64_t>(kHeader)) ||
      checksum(payload) != header[2])
    return std::nullopt;
  try {
    return parse(payload);
  } catch (const std::out_of_range&) {
    return std::nullopt;
  }
}

}  // namespace bitsweep::journal
