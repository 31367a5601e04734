#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <optional>
#include <span>

#include "bind.h"
#include "bitsweep/model.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {

void bind_model(nb::module_& m) {
  nb::class_<Dimension>(m, "Dimension",
                        "A dimension of a declared shape: a size, or -1 with an optional symbol.")
      .def_ro("size", &Dimension::size)
      .def_ro("name", &Dimension::name);

  nb::class_<ValueInfo>(m, "ValueInfo", "A model input or output as declared in the file.")
      .def_ro("name", &ValueInfo::name)
      .def_prop_ro("type", [](const ValueInfo& v) { return std::string(data_type_name(v.type)); })
      .def_ro("has_shape", &ValueInfo::has_shape)
      .def_ro("shape", &ValueInfo::shape);

  nb::enum_<ExternalData>(m, "ExternalData", "Where large tensors go when a model is written.")
      .value("AUTO", ExternalData::kAuto)
      .value("NEVER", ExternalData::kNever)
      .value("ALWAYS", ExternalData::kAlways);

  nb::class_<Model>(m, "Model", "An ONNX model, immutable once loaded.")
      .def_static(
          "load",
          [](const std::filesystem::path& path) {
            nb::gil_scoped_release release;
            return Model::load(path);
          },
          "path"_a, "Reads a file; external data is memory-mapped.")
      .def_static(
          "parse",
          [](const nb::bytes& data, const std::filesystem::path& base_dir) {
            const auto bytes =
                std::as_bytes(std::span(static_cast<const char*>(data.data()), data.size()));
            nb::gil_scoped_release release;
            return Model::parse(bytes, base_dir);
          },
          "data"_a, "base_dir"_a = std::filesystem::path(),
          "Parses a serialized ModelProto; `base_dir` resolves external data.")
      .def(
          "save",
          [](const Model& model, const std::filesystem::path& path, ExternalData external_data,
             std::int64_t inline_limit_bytes) {
            const SaveOptions options{.external_data = external_data,
                                      .inline_limit_bytes = inline_limit_bytes};
            nb::gil_scoped_release release;
            model.save(path, options);
          },
          "path"_a, "external_data"_a = ExternalData::kAuto,
          "inline_limit_bytes"_a = SaveOptions().inline_limit_bytes)
      .def("inputs", &Model::inputs)
      .def("outputs", &Model::outputs)
      .def("ir_version", &Model::ir_version)
      .def("opset", &Model::opset)
      .def("num_nodes", &Model::num_nodes)
      .def("content_hash", &Model::content_hash, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace bitsweep::python
