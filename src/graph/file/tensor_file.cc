#include "graph/file/tensor_file.h"

#include <limits>
#include <memory>

#include "bitsweep/error.h"
#include "graph/file/mapped_file.h"
#include "graph/file/tensor_proto.h"

namespace bitsweep::graph {

NamedTensor read_tensor_file(const std::filesystem::path& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::span<const std::byte> bytes = file->bytes();
  const auto fail = [&](const std::string& what) {
    return Error(ErrorCode::kInvalidData, "data", path.string() + " " + what,
                 "write it again with onnx.numpy_helper.from_array");
  };
  if (bytes.empty()) throw fail("is empty");
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw fail("is larger than 2 GiB");
  const auto proto = std::make_shared<onnx::TensorProto>();
  if (!proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      proto->data_type() == onnx::TensorProto::UNDEFINED) {
    throw fail("is no ONNX tensor");
  }
  if (proto->data_location() == onnx::TensorProto::EXTERNAL)
    throw fail("keeps its values in another file");
  try {
    check_tensor(*proto, {});
    return {.name = proto->name(), .value = read_tensor(*proto, {}, proto)};
  } catch (const Error& error) {
    throw fail(std::string("holds a damaged tensor (") + error.what() + ")");
  }
}

}  // namespace bitsweep::graph
