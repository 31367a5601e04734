#pragma once

#include <nanobind/nanobind.h>

#include "bitsweep/sample_source.h"

namespace bitsweep::python {

/// Samples from a Python object that can be iterated more than once (a list, or
/// bitsweep.data.Samples).
///
/// Takes the GIL for each sample only; may be used from a thread that does not hold it. Make and
/// destroy it with the GIL.
class PythonSamples : public SampleSource {
 public:
  /// `labels`: None, or one array for each sample.
  explicit PythonSamples(nanobind::object iterable, nanobind::object labels = nanobind::none());

  bool next(Feed* feed) override;
  void rewind() override;
  std::int64_t size() const override { return size_; }
  Tensor labels() const override { return label_; }

 private:
  void start();

  nanobind::object iterable_;
  nanobind::object labels_;
  nanobind::object iterator_;
  nanobind::object label_iterator_;
  Tensor label_;
  std::int64_t size_ = -1;
};

}  // namespace bitsweep::python
