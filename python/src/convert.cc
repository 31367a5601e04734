#include "convert.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bitsweep/error.h"
#include "bitsweep/sequence.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {
namespace {

struct TypeRow {
  DataType type;
  const char* numpy_name;  ///< numpy.dtype.name
  const char* carrier;     ///< same-sized type that numpy can hand over; null: the type itself
  nb::dlpack::dtype_code code;
  std::uint8_t bits;
};

constexpr auto kInt = nb::dlpack::dtype_code::Int;
constexpr auto kUInt = nb::dlpack::dtype_code::UInt;
constexpr auto kFloat = nb::dlpack::dtype_code::Float;

// The types of ml_dtypes have no buffer format: they travel as unsigned integers of their size.
constexpr std::array<TypeRow, 18> kTypes = {{
    {DataType::kFloat, "float32", nullptr, kFloat, 32},
    {DataType::kDouble, "float64", nullptr, kFloat, 64},
    {DataType::kFloat16, "float16", nullptr, kFloat, 16},
    {DataType::kInt8, "int8", nullptr, kInt, 8},
    {DataType::kInt16, "int16", nullptr, kInt, 16},
    {DataType::kInt32, "int32", nullptr, kInt, 32},
    {DataType::kInt64, "int64", nullptr, kInt, 64},
    {DataType::kUint8, "uint8", nullptr, kUInt, 8},
    {DataType::kUint16, "uint16", nullptr, kUInt, 16},
    {DataType::kUint32, "uint32", nullptr, kUInt, 32},
    {DataType::kUint64, "uint64", nullptr, kUInt, 64},
    {DataType::kBool, "bool", nullptr, nb::dlpack::dtype_code::Bool, 8},
    {DataType::kComplex64, "complex64", nullptr, nb::dlpack::dtype_code::Complex, 64},
    {DataType::kBfloat16, "bfloat16", "uint16", kUInt, 16},
    {DataType::kFloat8E4M3FN, "float8_e4m3fn", "uint8", kUInt, 8},
    {DataType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", "uint8", kUInt, 8},
    {DataType::kFloat8E5M2, "float8_e5m2", "uint8", kUInt, 8},
    {DataType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", "uint8", kUInt, 8},
}};

/// Keeps an exported buffer until the last tensor over it is gone, which may happen on a worker
/// thread.
class BufferOwner {
 public:
  explicit BufferOwner(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
      throw nb::python_error();
    }
  }
  BufferOwner(const BufferOwner&) = delete;
  BufferOwner& operator=(const BufferOwner&) = delete;
  ~BufferOwner() {
    if (nb::is_alive()) {
      nb::gil_scoped_acquire gil;
      PyBuffer_Release(&view_);
    }
  }
  const void* data() const { return view_.buf; }

 private:
  Py_buffer view_{};
};

nb::object as_ndarray(nb::handle object, const std::string& name) {
  nb::module_ numpy = nb::module_::import_("numpy");
  if (nb::isinstance(object, numpy.attr("ndarray"))) {
    return nb::borrow(object);
  }
  try {
    return numpy.attr("asarray")(object);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_ValueError)) {
      throw;
    }
    throw Error(ErrorCode::kInvalidData, "python",
                "\"" + name + "\" is not one array: its parts differ in shape", "pass an array");
  }
}

/// The same values in the layout that ONNX Runtime reads.
nb::object in_native_layout(nb::object array) {
  nb::object dtype = array.attr("dtype");
  if (!nb::cast<bool>(dtype.attr("isnative"))) {
    array = array.attr("astype")(dtype.attr("newbyteorder")("="));
  }
  nb::object flags = array.attr("flags");
  if (!nb::cast<bool>(flags.attr("c_contiguous")) || !nb::cast<bool>(flags.attr("aligned"))) {
    array = array.attr("copy")("order"_a = "C");
  }
  return array;
}

const TypeRow& row_of(DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) {
      return row;
    }
  }
  throw Error(
      ErrorCode::kInvalidData, "python",
      "tensors of type " + std::string(data_type_name(type)) + " cannot become numpy arrays",
      "ask for other outputs of the model");
}

/// View of a carrier array as the ml_dtypes type it stands for.
nb::object as_ml_dtype(nb::object array, const TypeRow& row) {
  nb::object dtype;
  try {
    dtype = nb::module_::import_("ml_dtypes").attr(row.numpy_name);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_ImportError)) {
      throw;
    }
    throw Error(ErrorCode::kInvalidData, "python",
                std::string("numpy has no type ") + row.numpy_name + " of its own",
                "install the package ml_dtypes");
  }
  return array.attr("view")(dtype);
}

nb::object wrap(const Tensor& tensor, void* data, nb::handle owner) {
  const TypeRow& row = row_of(tensor.type());
  std::vector<std::size_t> shape(tensor.shape().begin(), tensor.shape().end());
  const nb::dlpack::dtype dtype{static_cast<std::uint8_t>(row.code), row.bits, 1};
  nb::ndarray<nb::numpy> view(data, shape.size(), shape.data(), owner, nullptr, dtype);
  nb::object array = nb::cast(view);
  return row.carrier == nullptr ? array : as_ml_dtype(std::move(array), row);
}

}  // namespace

Tensor tensor_from_array(nb::handle object, const std::string& name) {
  nb::object array = in_native_layout(as_ndarray(object, name));
  const std::string dtype = nb::cast<std::string>(nb::str(array.attr("dtype").attr("name")));
  const TypeRow* row = nullptr;
  for (const TypeRow& candidate : kTypes) {
    if (dtype == candidate.numpy_name) {
      row = &candidate;
    }
  }
  if (row == nullptr) {
    throw Error(ErrorCode::kInvalidData, "python",
                "\"" + name + "\" has elements of type " + dtype +
                    ", which no tensor of the library can hold",
                "pass an array of numbers, e.g. float32 or int64");
  }
  Shape shape;
  for (nb::handle dim : nb::cast<nb::tuple>(array.attr("shape"))) {
    shape.push_back(nb::cast<std::int64_t>(dim));
  }
  if (row->carrier != nullptr) {
    array = array.attr("view")(row->carrier);
  }
  auto owner = std::make_shared<BufferOwner>(array);
  const void* data = owner->data();
  return Tensor::borrow(row->type, std::move(shape), data, std::move(owner));
}

nb::object array_from_tensor(const Tensor& tensor) {
  if (is_sequence(tensor)) {
    nb::list arrays;
    for (const Tensor& element : elements_of(tensor)) arrays.append(array_from_tensor(element));
    return arrays;
  }
  if (!tensor.defined()) return nb::none();
  auto* keep = new Tensor(tensor);
  nb::capsule owner(keep, [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  return wrap(tensor, const_cast<void*>(tensor.data()), owner);
}

nb::object array_copy_of_tensor(const Tensor& tensor) {
  return array_from_tensor(deep_copy(tensor));
}

namespace {

// Lists of equal arrays become one array, whose rows the runtime gets where the model wants a
// sequence.
Tensor tensor_or_sequence(nb::handle value, const std::string& name) {
  if (!nb::isinstance<nb::list>(value)) return tensor_from_array(value, name);
  std::set<std::string> shapes;
  for (nb::handle part : nb::borrow<nb::list>(value)) {
    if (!nb::hasattr(part, "shape")) return tensor_from_array(value, name);
    shapes.insert(nb::cast<std::string>(nb::repr(part.attr("shape"))));
  }
  if (shapes.size() < 2) return tensor_from_array(value, name);
  std::vector<Tensor> parts;
  for (nb::handle part : nb::borrow<nb::list>(value))
    parts.push_back(tensor_from_array(part, name));
  return make_sequence(std::move(parts));
}

}  // namespace

Feed feed_from_dict(nb::handle feed) {
  if (!nb::isinstance<nb::dict>(feed)) {
    const std::string got = nb::cast<std::string>(nb::str(feed.type().attr("__name__")));
    throw Error(ErrorCode::kInvalidData, "python", "a sample is a " + got + ", not a dict",
                "pass {input name: array} for each sample");
  }
  Feed result;
  for (auto [key, value] : nb::borrow<nb::dict>(feed)) {
    if (!nb::isinstance<nb::str>(key)) {
      throw Error(ErrorCode::kInvalidData, "python", "a key of a sample is not a text",
                  "use the names of the model's inputs as keys");
    }
    std::string name = nb::cast<std::string>(key);
    Tensor tensor = tensor_or_sequence(value, name);
    result.insert_or_assign(std::move(name), std::move(tensor));
  }
  return result;
}

}  // namespace bitsweep::python
