#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "bitsweep/passes.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace bitsweep::python {

void bind_passes(nb::module_& m) {
  nb::class_<FoldedBatchNorm>(m, "FoldedBatchNorm",
                              "A batch norm that became part of the weight and bias of a layer.")
      .def_ro("layer", &FoldedBatchNorm::layer)
      .def_ro("layer_output", &FoldedBatchNorm::layer_output)
      .def_ro("batch_norm", &FoldedBatchNorm::batch_norm)
      .def_ro("forward", &FoldedBatchNorm::forward)
      .def_ro("gamma", &FoldedBatchNorm::gamma)
      .def_ro("beta", &FoldedBatchNorm::beta);
  nb::class_<KeptBatchNorm>(m, "KeptBatchNorm", "A batch norm that stayed, and why.")
      .def_ro("batch_norm", &KeptBatchNorm::batch_norm)
      .def_ro("reason", &KeptBatchNorm::reason);
  nb::class_<FoldBatchNormsResult>(m, "FoldBatchNormsResult")
      .def_ro("model", &FoldBatchNormsResult::model)
      .def_ro("folded", &FoldBatchNormsResult::folded)
      .def_ro("kept", &FoldBatchNormsResult::kept);
  m.def("fold_batch_norms", &fold_batch_norms, "model"_a, nb::call_guard<nb::gil_scoped_release>(),
        "Folds batch norms into the layers beside them; the model given stays as it is.");

  nb::class_<EqualizedPair>(
      m, "EqualizedPair", "Two neighbouring layers whose channels were scaled against each other.")
      .def_ro("first", &EqualizedPair::first)
      .def_ro("second", &EqualizedPair::second)
      .def_ro("activation_between", &EqualizedPair::activation_between)
      .def_ro("scale", &EqualizedPair::scale)
      .def_ro("absorbed", &EqualizedPair::absorbed);
  nb::class_<EqualizeResult>(m, "EqualizeResult")
      .def_ro("model", &EqualizeResult::model)
      .def_ro("folded", &EqualizeResult::folded)
      .def_ro("sets", &EqualizeResult::sets)
      .def_ro("replaced_clips", &EqualizeResult::replaced_clips);
  m.def(
      "equalize_cross_layers",
      [](const Model& model, bool implied_group, bool replace_relu6, bool absorb_high_biases) {
        nb::gil_scoped_release release;
        return equalize_cross_layers(model, {.implied_group = implied_group,
                                             .replace_relu6 = replace_relu6,
                                             .absorb_high_biases = absorb_high_biases});
      },
      "model"_a, nb::kw_only(), "implied_group"_a = EqualizeOptions{}.implied_group,
      "replace_relu6"_a = EqualizeOptions{}.replace_relu6,
      "absorb_high_biases"_a = EqualizeOptions{}.absorb_high_biases,
      "Cross-layer equalization; the model given stays as it is.");

  nb::class_<DuplicatedInitializer>(m, "DuplicatedInitializer",
                                    "A copy of an initializer for one of its readers.")
      .def_ro("initializer", &DuplicatedInitializer::initializer)
      .def_ro("copy", &DuplicatedInitializer::copy)
      .def_ro("node", &DuplicatedInitializer::node);
  nb::class_<DuplicateInitializersResult>(m, "DuplicateInitializersResult")
      .def_ro("model", &DuplicateInitializersResult::model)
      .def_ro("copies", &DuplicateInitializersResult::copies);
  m.def("duplicate_shared_initializers", &duplicate_shared_initializers, "model"_a,
        nb::call_guard<nb::gil_scoped_release>(),
        "Gives each reader of a shared float initializer its own copy.");
}

}  // namespace bitsweep::python
