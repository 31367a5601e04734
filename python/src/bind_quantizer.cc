#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>

#include "bind.h"
#include "bitsweep/encoding.h"
#include "bitsweep/error.h"
#include "bitsweep/format.h"
#include "bitsweep/quantizer.h"
#include "convert.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {
namespace {

/// Opaque settings of a quantizer, to put back later.
struct QuantizerSnapshot {
  std::shared_ptr<const Quantizer::Snapshot> value;
};

void bind_encoding(nb::module_& m) {
  nb::class_<Format>(m, "Format", "A numeric type that a quantizer can round to.")
      .def(nb::init<>())
      .def_static("integer", &Format::integer, "bitwidth"_a)
      .def_static(
          "parse", [](const std::string& name) { return Format::parse(name); }, "name"_a)
      .def_ro("bitwidth", &Format::bitwidth)
      .def_prop_ro("name", &Format::name)
      .def_prop_ro("is_integer", &Format::is_integer)
      .def_prop_ro("needs_encoding", &Format::needs_encoding)
      .def(
          "__eq__", [](const Format& a, const Format& b) { return a == b; }, "other"_a)
      .def(
          "__eq__", [](const Format&, nb::handle) { return false; }, "other"_a)
      .def("__hash__", [](const Format& f) { return std::hash<std::string>()(f.name()); })
      .def("__repr__", &Format::name);

  nb::class_<Granularity>(m, "Granularity", "How many encodings a tensor has.")
      .def(
          "__init__",
          [](Granularity* self, int channel_axis, int block_axis, int block_size) {
            new (self) Granularity{channel_axis, block_axis, block_size};
          },
          "channel_axis"_a = -1, "block_axis"_a = -1, "block_size"_a = 0)
      .def_ro("channel_axis", &Granularity::channel_axis)
      .def_ro("block_axis", &Granularity::block_axis)
      .def_ro("block_size", &Granularity::block_size);

  nb::class_<AffineEncoding>(m, "AffineEncoding", "real = delta * (q + offset) of one grid cell.")
      .def(
          "__init__",
          [](AffineEncoding* self, double min, double max, double delta, double offset) {
            new (self) AffineEncoding{min, max, delta, offset};
          },
          "min"_a, "max"_a, "delta"_a, "offset"_a)
      .def_ro("min", &AffineEncoding::min)
      .def_ro("max", &AffineEncoding::max)
      .def_ro("delta", &AffineEncoding::delta)
      .def_ro("offset", &AffineEncoding::offset);

  nb::class_<Encoding>(m, "Encoding",
                       "Encodings of one tensor: one cell, one per channel or one per block.")
      .def(
          "__init__",
          [](Encoding* self, const Format& format, const Granularity& granularity, Shape grid,
             std::vector<AffineEncoding> cells) {
            new (self) Encoding{format, granularity, std::move(grid), std::move(cells)};
          },
          "format"_a, "granularity"_a, "grid"_a, "cells"_a)
      .def_ro("format", &Encoding::format)
      .def_ro("granularity", &Encoding::granularity)
      .def_ro("grid", &Encoding::grid)
      .def_ro("cells", &Encoding::cells);
}

}  // namespace

void bind_quantizer(nb::module_& m) {
  bind_encoding(m);

  nb::class_<QuantizerSnapshot>(m, "QuantizerSnapshot",
                                "Settings and encoding of a quantizer at one moment.");

  nb::class_<Quantizer>(m, "Quantizer", "Settings, encoding and statistics of one quantizer.")
      .def(nb::init<std::string>(), "name"_a)
      .def_prop_ro("name", &Quantizer::name)
      .def_prop_rw("enabled", &Quantizer::enabled, &Quantizer::set_enabled)
      .def_prop_rw(
          "format", [](const Quantizer& q) { return q.format(); }, &Quantizer::set_format)
      .def_prop_rw("bitwidth", &Quantizer::bitwidth, &Quantizer::set_bitwidth)
      .def_prop_rw("symmetric", &Quantizer::symmetric, &Quantizer::set_symmetric)
      .def_prop_rw("strict_symmetric", &Quantizer::strict_symmetric,
                   &Quantizer::set_strict_symmetric)
      .def_prop_rw("unsigned_symmetric", &Quantizer::unsigned_symmetric,
                   &Quantizer::set_unsigned_symmetric)
      .def_prop_rw(
          "granularity", [](const Quantizer& q) { return q.granularity(); },
          &Quantizer::set_granularity)
      .def_prop_rw("tensor_shape", &Quantizer::tensor_shape, &Quantizer::set_tensor_shape)
      .def_prop_ro("possible_channel_axis", &Quantizer::possible_channel_axis)
      .def_prop_ro("possible_block_axis", &Quantizer::possible_block_axis)
      .def("set_possible_axes", &Quantizer::set_possible_axes, "channel_axis"_a, "block_axis"_a)
      .def_prop_ro("lpbq_scale_bits",
                   [](const Quantizer& q) -> std::optional<int> {
                     const auto lpbq = q.lpbq();
                     return lpbq ? std::optional<int>(lpbq->scale_bits) : std::nullopt;
                   })
      .def(
          "set_lpbq",
          [](Quantizer& q, std::optional<int> scale_bits) {
            q.set_lpbq(scale_bits ? std::optional<Lpbq>(Lpbq{*scale_bits}) : std::nullopt);
          },
          "scale_bits"_a.none())
      .def_prop_rw(
          "scheme", [](const Quantizer& q) { return std::string(scheme_name(q.scheme())); },
          [](Quantizer& q, const std::string& name) { q.set_scheme(parse_scheme(name)); })
      .def_prop_rw("percentile", &Quantizer::percentile, &Quantizer::set_percentile)
      .def_prop_rw(
          "histogram_support",
          [](const Quantizer& q) {
            return q.histogram_support() == HistogramSupport::kGrowing ? "growing" : "first_batch";
          },
          [](Quantizer& q, const std::string& name) {
            if (name != "growing" && name != "first_batch") {
              throw Error(ErrorCode::kInvalidArgument, "quantizer",
                          "no histogram support is named \"" + name + "\"",
                          "use first_batch or growing");
            }
            q.set_histogram_support(name == "growing" ? HistogramSupport::kGrowing
                                                      : HistogramSupport::kFirstBatch);
          })
      .def("histograms",
           [](const Quantizer& q) {
             std::vector<std::vector<std::pair<double, double>>> cells;
             for (const std::vector<HistogramBucket>& histogram : q.histograms()) {
               auto& cell = cells.emplace_back();
               for (const HistogramBucket& bucket : histogram)
                 cell.emplace_back(bucket.left, bucket.mass);
             }
             return cells;
           })
      .def_prop_rw("fixed_range", &Quantizer::fixed_range, &Quantizer::set_fixed_range,
                   nb::for_setter(nb::arg().none()))
      .def_prop_rw("zero_point_shift", &Quantizer::zero_point_shift,
                   &Quantizer::set_zero_point_shift)
      .def_prop_ro("frozen", &Quantizer::frozen)
      .def("freeze", &Quantizer::freeze)
      .def("unfreeze", &Quantizer::unfreeze)
      .def("reset_statistics", &Quantizer::reset_statistics)
      .def(
          "observe",
          [](Quantizer& q, nb::handle values) {
            const Tensor tensor = tensor_from_array(values, q.name());
            nb::gil_scoped_release release;
            q.observe(tensor);
          },
          "values"_a)
      .def("has_statistics", &Quantizer::has_statistics)
      .def("num_non_finite", &Quantizer::num_non_finite)
      .def("compute_encoding", &Quantizer::compute_encoding,
           nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("encoding", [](const Quantizer& q) { return q.encoding(); })
      .def("load_encoding", &Quantizer::load_encoding, "encoding"_a)
      .def("clear_encoding", &Quantizer::clear_encoding)
      .def("initialized", &Quantizer::initialized)
      .def("clip_encoding", &Quantizer::clip_encoding, "limit"_a)
      .def(
          "fake_quant",
          [](const Quantizer& q, nb::handle values) {
            const Tensor tensor = tensor_from_array(values, q.name());
            Tensor result;
            {
              nb::gil_scoped_release release;
              result = q.fake_quant(tensor);
            }
            return array_from_tensor(result);
          },
          "values"_a)
      .def_prop_ro("version", &Quantizer::version)
      .def("snapshot", [](const Quantizer& q) { return QuantizerSnapshot{q.snapshot()}; })
      .def(
          "restore", [](Quantizer& q, const QuantizerSnapshot& s) { q.restore(*s.value); },
          "snapshot"_a);
}

}  // namespace bitsweep::python
