#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <mutex>
#include <optional>
#include <set>

#include "bitsweep/error.h"
#include "bitsweep/model.h"
#include "graph/file/mapped_file.h"
#include "graph/file/model_impl.h"
#include "graph/file/save_model.h"
#include "graph/file/walk_tensors.h"

namespace bitsweep {
namespace {

// Tensors below this stay in the .onnx file when the others move out: readers of the graph often
// need them (shapes, axes).
constexpr std::size_t kExternalBytesMin = 1024;
// Smaller ones stay whatever the limit: the runtime refuses a model whose shapes, axes or scales of
// a Resize it would have to read from another file.
constexpr std::size_t kShapesEndAt = 64;
// A page: lets readers map a tensor by itself. Small tensors are only aligned for vector loads.
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kSmallAlignment = 64;
constexpr std::size_t kPageAlignedFrom = 65'536;

std::size_t data_bytes(const onnx::TensorProto& tensor) {
  return tensor.data_type() == onnx::TensorProto::STRING ? 0 : graph::required_bytes(tensor);
}

/// A file written under a temporary name; commit() renames it. Without commit it is removed.
class AsideFile {
 public:
  explicit AsideFile(std::filesystem::path target) : target_(std::move(target)) {
    static std::atomic<unsigned> counter{0};
    if (std::filesystem::is_directory(target_)) {
      errno = EISDIR;
      fail();
    }
    aside_ = target_;
    aside_ += fmt::format(".{}.{}.tmp", ::getpid(), counter.fetch_add(1));
    stream_.open(aside_, std::ios::binary | std::ios::trunc);
    if (!stream_) fail();
  }
  AsideFile(const AsideFile&) = delete;
  AsideFile& operator=(const AsideFile&) = delete;
  ~AsideFile() {
    if (committed_) return;
    stream_.close();
    std::error_code ignored;
    std::filesystem::remove(aside_, ignored);
  }

  std::ofstream& stream() { return stream_; }

  void close() {
    stream_.close();
    if (!stream_) fail();
  }

  void commit() {
    std::error_code error;
    std::filesystem::rename(aside_, target_, error);
    if (error) {
      errno = error.value();
      fail();
    }
    committed_ = true;
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(ErrorCode::kIo, "model",
                fmt::format("cannot write \"{}\": {}", target_.string(), std::strerror(errno)),
                "check that the folder exists, may be written and has room");
  }

  std::filesystem::path target_;
  std::filesystem::path aside_;
  std::ofstream stream_;
  bool committed_ = false;
};

/// Lends stored strings to a private copy of the message while it is written, so that weights are
/// not copied. A swap moves the buffer from one string to the other and leaves it where it is, so
/// readers of the model notice nothing.
class LentBytes {
 public:
  explicit LentBytes(std::mutex& lending) : lock_(lending) {}
  LentBytes(const LentBytes&) = delete;
  LentBytes& operator=(const LentBytes&) = delete;
  ~LentBytes() {
    for (const auto& [tensor, text] : lent_) tensor->mutable_raw_data()->swap(*text);
  }

  void lend(onnx::TensorProto* tensor, const graph::StoredBytes& bytes) {
    tensor->clear_external_data();
    if (tensor->data_location() == onnx::TensorProto::EXTERNAL) tensor->clear_data_location();
    if (bytes.make) {
      const Tensor value = bytes.make();
      tensor->set_raw_data(value.data(), value.size_bytes());
      return;
    }
    if (bytes.text == nullptr) {
      tensor->set_raw_data(bytes.data, bytes.size);
      return;
    }
    lent_.emplace_back(tensor, bytes.text);
    tensor->mutable_raw_data()->swap(*bytes.text);
  }

 private:
  std::lock_guard<std::mutex> lock_;
  std::vector<std::pair<onnx::TensorProto*, std::string*>> lent_;
};

/// Tensors that move to the data file.
std::set<const onnx::TensorProto*> choose_external(const onnx::ModelProto& proto,
                                                   const SaveOptions& options) {
  std::set<const onnx::TensorProto*> chosen;
  if (options.external_data == ExternalData::kNever) return chosen;
  std::int64_t total = 0;
  graph::walk_tensors(proto, [&](const onnx::TensorProto& t) {
    total += static_cast<std::int64_t>(data_bytes(t));
  });
  if (options.external_data == ExternalData::kAuto && total <= options.inline_limit_bytes)
    return chosen;
  std::int64_t kept = total;
  const auto take = [&](const onnx::TensorProto& t, std::size_t least) {
    if (data_bytes(t) < least || !chosen.insert(&t).second) return;
    kept -= static_cast<std::int64_t>(data_bytes(t));
  };
  for (const onnx::TensorProto& t : proto.graph().initializer()) take(t, kExternalBytesMin);
  if (chosen.empty() && options.external_data == ExternalData::kAlways) {
    for (const onnx::TensorProto& t : proto.graph().initializer()) take(t, 1);
  }
  // Constants in nodes and bodies follow only when they are what passes the limit: not every reader
  // finds them outside.
  if (kept > options.inline_limit_bytes) {
    graph::walk_tensors(proto, [&](const onnx::TensorProto& t) { take(t, kExternalBytesMin); });
  }
  if (kept > options.inline_limit_bytes) {
    graph::walk_tensors(proto, [&](const onnx::TensorProto& t) { take(t, kShapesEndAt); });
  }
  return chosen;
}

void set_entry(onnx::TensorProto* tensor, const char* key, std::string value) {
  onnx::StringStringEntryProto* entry = tensor->add_external_data();
  entry->set_key(key);
  entry->set_value(std::move(value));
}

void write_outside(onnx::TensorProto* tensor, const Tensor& value, const std::string& location,
                   std::uint64_t* end, std::ofstream* out) {
  const std::uint64_t alignment = value.size_bytes() >= kPageAlignedFrom ? kPage : kSmallAlignment;
  const std::uint64_t offset = (*end + alignment - 1) / alignment * alignment;
  static constexpr char kZeros[kPage] = {};
  out->write(kZeros, static_cast<std::streamsize>(offset - *end));
  out->write(static_cast<const char*>(value.data()),
             static_cast<std::streamsize>(value.size_bytes()));
  *end = offset + value.size_bytes();
  tensor->clear_raw_data();
  tensor->clear_float_data();
  tensor->clear_int32_data();
  tensor->clear_int64_data();
  tensor->clear_double_data();
  tensor->clear_uint64_data();
  tensor->clear_external_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  set_entry(tensor, "location", location);
  set_entry(tensor, "offset", std::to_string(offset));
  set_entry(tensor, "length", std::to_string(value.size_bytes()));
}

}  // namespace

void graph::save_model(const Model& model, const std::filesystem::path& path,
                       const SaveOptions& options, const std::string& data_name) {
  const Model::Impl& impl = *model.impl();
  onnx::ModelProto proto = impl.proto;  // cheap: large tensors are beside it
  LentBytes lent(impl.lending);
  std::filesystem::path data_path = path;
  if (data_name.empty()) {
    data_path += ".data";
  } else {
    data_path.replace_filename(data_name);
  }
  AsideFile file(path);
  std::optional<AsideFile> data_file;
  const std::set<const onnx::TensorProto*> external = choose_external(proto, options);
  if (!external.empty()) data_file.emplace(data_path);
  std::uint64_t end = 0;
  graph::walk_tensors(proto, [&](onnx::TensorProto& tensor) {
    const int stored = graph::stored_index(tensor);
    if (external.count(&tensor) > 0) {
      const Tensor value = graph::read_tensor(tensor, impl.stored, nullptr);
      write_outside(&tensor, value, data_path.filename().string(), &end, &data_file->stream());
      graph::give_back_pages(value);
    } else if (stored >= 0) {
      lent.lend(&tensor, impl.stored[static_cast<std::size_t>(stored)]);
    }
  });
  if (proto.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(
        ErrorCode::kInvalidArgument, "model",
        fmt::format("\"{}\" would be larger than 2 GiB, which ONNX files can't be", path.string()),
        "save it with external data");
  }
  proto.SerializeToOstream(&file.stream());
  file.close();
  // The data goes first: a model is never there without it.
  if (data_file) {
    data_file->close();
    data_file->commit();
  }
  file.commit();
}

void Model::save(const std::filesystem::path& path, const SaveOptions& options) const {
  graph::save_model(*this, path, options);
}

}  // namespace bitsweep
