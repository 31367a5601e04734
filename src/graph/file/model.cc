#include "bitsweep/model.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "bitsweep/error.h"
#include "graph/file/external_data.h"
#include "graph/file/mapped_file.h"
#include "graph/file/model_impl.h"
#include "graph/file/walk_tensors.h"

namespace bitsweep {
namespace {

using google::protobuf::io::CodedInputStream;

// Operator sets have been part of the format since version 3.
constexpr std::int64_t kOldestIrVersion = 3;

[[noreturn]] void invalid(const std::string& what, const std::string& fix) {
  throw Error(ErrorCode::kInvalidModel, "model", what, fix);
}

/// Why the bytes are no model: walks the outermost fields, which tells a cut file from another kind
/// of file.
[[noreturn]] void explain_broken(std::span<const std::byte> bytes, const std::string& name) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("version https://git-lfs")) {
    invalid(name + " is a Git LFS pointer, not the model itself",
            "run 'git lfs pull' in its repository");
  }
  const std::set<std::uint32_t> known = {1, 2, 3,  4,  5,  6,
                                         7, 8, 14, 20, 25, 26};  // fields of ModelProto
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  bool looks_like_onnx = false;
  bool cut = false;
  while (true) {
    const std::uint32_t tag = in.ReadTag();
    if (tag == 0) {
      cut = looks_like_onnx && in.CurrentPosition() >= static_cast<int>(bytes.size());
      break;
    }
    if (known.count(tag >> 3) == 0 || !((tag & 7U) == 0 || (tag & 7U) == 2)) break;
    std::uint64_t value = 0;
    if (!in.ReadVarint64(&value)) {
      cut = looks_like_onnx;
      break;
    }
    // The first field is a version or a message; by itself it proves nothing.
    if ((tag & 7U) == 2) {
      const int left = static_cast<int>(bytes.size()) - in.CurrentPosition();
      if (value > static_cast<std::uint64_t>(left)) {
        cut = looks_like_onnx || (tag >> 3) == 7;
        break;
      }
      in.Skip(static_cast<int>(value));
    }
    looks_like_onnx = true;
  }
  if (cut)
    invalid(name + " ends early: it was cut while being copied or written", "get the file again");
  if (looks_like_onnx)
    invalid(name + " is not an ONNX model, or it is damaged",
            "check the file or export the model again");
  invalid(name + " is not an ONNX model", "give the path of an .onnx file");
}

void check_header(const onnx::ModelProto& proto, std::span<const std::byte> bytes,
                  const std::string& name) {
  if (!proto.has_graph()) explain_broken(bytes, name);
  if (proto.ir_version() < kOldestIrVersion) {
    invalid(fmt::format("{} has IR version {}, older than {}", name, proto.ir_version(),
                        kOldestIrVersion),
            "export it again with a current exporter");
  }
  if (proto.opset_import_size() == 0) {
    invalid(name + " imports no operator set: it was cut, or its exporter is broken",
            "get or export the file again");
  }
}

Model parse_model(std::span<const std::byte> bytes, const std::string& name,
                  const std::filesystem::path& base_dir) {
  if (bytes.empty()) invalid(name + " is empty", "get or export the file again");
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    invalid(name + " is larger than 2 GiB, which protobuf can't hold",
            "save the model with external data");
  }
  auto impl = std::make_shared<Model::Impl>();
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size()));
  in.SetTotalBytesLimit(std::numeric_limits<int>::max());
  if (!impl->proto.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage())
    explain_broken(bytes, name);
  check_header(impl->proto, bytes, name);

  graph::ExternalFiles files(base_dir);
  graph::walk_tensors(impl->proto, [&](onnx::TensorProto& tensor) {
    if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
      impl->stored.push_back(files.resolve(tensor));
      graph::mark_stored(&tensor, impl->stored.size() - 1);
    } else {
      tensor.clear_external_data();
      if (tensor.raw_data().size() >= graph::kStoredBytesMin) {
        const auto data = std::make_shared<std::string>(std::move(*tensor.mutable_raw_data()));
        tensor.clear_raw_data();
        impl->stored.push_back(
            {data, reinterpret_cast<const std::byte*>(data->data()), data->size(), data.get()});
        graph::mark_stored(&tensor, impl->stored.size() - 1);
      }
    }
    graph::check_tensor(tensor, impl->stored);
  });
  return Model(std::move(impl));
}

ValueInfo to_value_info(const onnx::ValueInfoProto& from) {
  ValueInfo to;
  to.name = from.name();
  if (!from.type().has_tensor_type()) return to;
  const onnx::TypeProto::Tensor& tensor = from.type().tensor_type();
  to.type = static_cast<DataType>(tensor.elem_type());
  to.has_shape = tensor.has_shape();
  for (const onnx::TensorShapeProto::Dimension& d : tensor.shape().dim()) {
    // A negative size is how some exporters write "any".
    to.shape.push_back(
        {d.has_dim_value() && d.dim_value() >= 0 ? d.dim_value() : -1, d.dim_param()});
  }
  return to;
}

}  // namespace

Model Model::load(const std::filesystem::path& path) {
  const std::shared_ptr<const graph::MappedFile> file = graph::MappedFile::open(path);
  return parse_model(file->bytes(), fmt::format("\"{}\"", path.string()), path.parent_path());
}

Model Model::parse(std::span<const std::byte> bytes, const std::filesystem::path& base_dir) {
  return parse_model(bytes, "the model", base_dir);
}

std::vector<ValueInfo> Model::inputs() const {
  std::set<std::string_view> initializers;
  for (const onnx::TensorProto& t : impl_->proto.graph().initializer())
    initializers.insert(t.name());
  for (const onnx::SparseTensorProto& t : impl_->proto.graph().sparse_initializer())
    initializers.insert(t.values().name());
  std::vector<ValueInfo> result;
  for (const onnx::ValueInfoProto& input : impl_->proto.graph().input()) {
    if (initializers.count(input.name()) == 0) result.push_back(to_value_info(input));
  }
  return result;
}

std::vector<ValueInfo> Model::outputs() const {
  std::vector<ValueInfo> result;
  for (const onnx::ValueInfoProto& output : impl_->proto.graph().output())
    result.push_back(to_value_info(output));
  return result;
}

std::int64_t Model::ir_version() const { return impl_->proto.ir_version(); }

std::int64_t Model::opset() const {
  for (const onnx::OperatorSetIdProto& import : impl_->proto.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return import.version();
  }
  return 0;
}

std::size_t Model::num_nodes() const {
  return static_cast<std::size_t>(impl_->proto.graph().node_size());
}

}  // namespace bitsweep
