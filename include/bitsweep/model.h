#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bitsweep/export.h"
#include "bitsweep/tensor.h"

namespace BITSWEEP_EXPORT bitsweep {

/// A dimension of a declared shape: a fixed size, or a symbol (size -1) with an optional name.
struct Dimension {
  std::int64_t size = -1;
  std::string name;
};

/// A model input or output as declared in the file.
struct ValueInfo {
  std::string name;
  DataType type = DataType::kUndefined;
  bool has_shape = false;
  std::vector<Dimension> shape;
};

/// Where large tensors go when a model is written.
enum class ExternalData { kAuto, kNever, kAlways };

struct SaveOptions {
  ExternalData external_data = ExternalData::kAuto;
  /// Bytes of tensor data above which kAuto moves tensors to "<file>.data". Source: protobuf's 2
  /// GiB message limit.
  std::int64_t inline_limit_bytes = std::int64_t{1} << 30;
};

/// An ONNX model: IR version 3 to the newest, opset 7 to the newest. Immutable once loaded; copies
/// share the data.
///
/// External data is memory-mapped and never copied.
class Model {
 public:
  /// @throws Error(kNotFound | kIo | kInvalidModel): missing, unreadable, truncated or not ONNX;
  /// missing external data.
  static Model load(const std::filesystem::path& path);

  /// Parses a serialized ModelProto; the bytes are copied. `base_dir` resolves external data.
  static Model parse(std::span<const std::byte> bytes, const std::filesystem::path& base_dir = {});

  /// Writes aside, then renames: nothing half-written stays. @throws Error(kIo).
  void save(const std::filesystem::path& path, const SaveOptions& options = {}) const;

  /// Inputs that a caller must feed: graph inputs without an initializer of the same name.
  std::vector<ValueInfo> inputs() const;
  std::vector<ValueInfo> outputs() const;

  std::int64_t ir_version() const;
  /// Version of the default ONNX domain, 0 when not imported.
  std::int64_t opset() const;
  std::size_t num_nodes() const;

  /// SHA-256 over graph and weights, independent of the file's path; hexadecimal.
  std::string content_hash() const;

  struct BITSWEEP_HIDDEN Impl;  // protobuf stays in src/graph
  const std::shared_ptr<const Impl>& impl() const { return impl_; }
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace BITSWEEP_EXPORT bitsweep
