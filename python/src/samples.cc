#include "samples.h"

#include <cstring>
#include <utility>

#include "convert.h"

namespace nb = nanobind;

namespace bitsweep::python {

PythonSamples::PythonSamples(nb::object iterable) : iterable_(std::move(iterable)) {
  size_ =
      nb::cast<std::int64_t>(nb::module_::import_("operator").attr("length_hint")(iterable_, -1));
}

bool PythonSamples::next(Feed* feed) {
  nb::gil_scoped_acquire gil;
  if (!iterator_.is_valid()) {
    iterator_ = nb::iter(iterable_);
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
    Tensor copy = Tensor::allocate(tensor.type(), tensor.shape());
    if (copy.size_bytes() > 0) {
      std::memcpy(copy.mutable_data(), tensor.data(), copy.size_bytes());
    }
    tensor = std::move(copy);
  }
  return true;
}

void PythonSamples::rewind() {
  nb::gil_scoped_acquire gil;
  iterator_ = nb::iter(iterable_);
}

}  // namespace bitsweep::python
