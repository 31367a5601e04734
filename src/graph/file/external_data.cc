#include "graph/file/external_data.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "bitsweep/error.h"

namespace bitsweep::graph {
namespace {

[[noreturn]] void fail(ErrorCode code, const std::string& what, const std::string& fix) {
  throw Error(code, "model", what, fix);
}

std::optional<std::string> entry(const onnx::TensorProto& tensor, std::string_view key) {
  for (const onnx::StringStringEntryProto& e : tensor.external_data()) {
    if (e.key() == key) return e.value();
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number(const onnx::TensorProto& tensor, std::string_view key) {
  const std::optional<std::string> text = entry(tensor, key);
  if (!text) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end) {
    fail(ErrorCode::kInvalidModel,
         fmt::format("tensor \"{}\" has the external data {} \"{}\", which is not a number",
                     tensor.name(), key, *text),
         "save the model with its external data again");
  }
  return value;
}

/// The check is lexical: model text can't reach outside the folder, while links that the owner of
/// the folder made (as download caches do) keep working.
bool stays_inside(const std::filesystem::path& location) {
  if (location.empty() || location.is_absolute()) return false;
  const std::filesystem::path normal = location.lexically_normal();
  return normal.begin() != normal.end() && *normal.begin() != ".." && normal.has_filename();
}

}  // namespace

StoredBytes ExternalFiles::resolve(const onnx::TensorProto& tensor) {
  const std::optional<std::string> location = entry(tensor, "location");
  if (!location || !stays_inside(*location)) {
    fail(ErrorCode::kInvalidModel,
         fmt::format(
             "tensor \"{}\" has its data in \"{}\", which is not a file inside the model's folder",
             tensor.name(), location.value_or("")),
         "save the model with its external data beside it");
  }
  const std::filesystem::path path = base_dir_ / *location;
  std::shared_ptr<const MappedFile>& file = files_[*location];
  if (file == nullptr) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
      fail(ErrorCode::kNotFound,
           fmt::format("tensor \"{}\" has its data in \"{}\", which does not exist", tensor.name(),
                       path.string()),
           "put the data file into the model's folder");
    }
    file = MappedFile::open(path);
  }
  const std::size_t needed = required_bytes(tensor);
  const std::uint64_t offset = number(tensor, "offset").value_or(0);
  const std::uint64_t length = number(tensor, "length").value_or(needed);
  if (length != needed) {
    fail(ErrorCode::kInvalidModel,
         fmt::format("tensor \"{}\" needs {} bytes but its external data in \"{}\" has length {}",
                     tensor.name(), needed, path.string(), length),
         "save the model with its external data again");
  }
  const std::span<const std::byte> bytes = file->bytes();
  if (offset > bytes.size() || length > bytes.size() - offset) {
    fail(ErrorCode::kInvalidModel,
         fmt::format("tensor \"{}\" needs bytes {} to {} of \"{}\", which ends at {}",
                     tensor.name(), offset, offset + length, path.string(), bytes.size()),
         "the data file is truncated or of another model: get it again");
  }
  return StoredBytes{file, bytes.data() + offset, static_cast<std::size_t>(length), nullptr};
}

}  // namespace bitsweep::graph
