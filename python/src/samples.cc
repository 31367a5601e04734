#include "samples.h"

#include <utility>

#include "bitsweep/error.h"
#include "bitsweep/sequence.h"
#include "convert.h"

namespace nb = nanobind;

namespace bitsweep::python {

PythonSamples::PythonSamples(nb::object iterable, nb::object labels)
    : iterable_(std::move(iterable)), labels_(std::move(labels)) {
  size_ =
      nb::cast<std::int64_t>(nb::module_::import_("operator").attr("length_hint")(iterable_, -1));
}

bool PythonSamples::next(Feed* feed) {
  nb::gil_scoped_acquire gil;
  if (!iterator_.is_valid()) {
    start();
  }
  nb::object item = nb::steal(PyIter_Next(iterator_.ptr()));
  if (!item.is_valid()) {
    if (PyErr_Occurred() != nullptr) {
      throw nb::python_error();
    }
    return false;
  }
  // Other mappings, such as an open .npz file.
  if (!nb::isinstance<nb::dict>(item) && nb::hasattr(item, "keys")) {
    item = nb::module_::import_("builtins").attr("dict")(item);
  }
  *feed = feed_from_dict(item);
  // A generator may fill the same arrays again while this sample is still in use.
  for (auto& [name, tensor] : *feed) {
    tensor = deep_copy(tensor);
  }
  if (!labels_.is_none()) {
    nb::object label = nb::steal(PyIter_Next(label_iterator_.ptr()));
    if (!label.is_valid()) {
      if (PyErr_Occurred() != nullptr) {
        throw nb::python_error();
      }
      throw Error(ErrorCode::kInvalidData, "samples", "there are fewer labels than samples",
                  "give one array of labels for each sample");
    }
    nb::object rows = nb::module_::import_("numpy").attr("atleast_1d")(label);
    label_ = deep_copy(tensor_from_array(rows, "labels"));
  }
  return true;
}

void PythonSamples::rewind() {
  nb::gil_scoped_acquire gil;
  start();
}

void PythonSamples::start() {
  iterator_ = nb::iter(iterable_);
  if (!labels_.is_none()) {
    label_iterator_ = nb::iter(labels_);
  }
}

}  // namespace bitsweep::python
