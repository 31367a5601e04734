#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <exception>
#include <utility>

namespace bitsweep::python {

namespace nb = nanobind;

/// Calls a Python progress function a few times a second and looks for Ctrl-C.
///
/// An exception stops the work, which puts the switches back, and is raised again by check().
template <typename Progress>
class ProgressCaller {
 public:
  explicit ProgressCaller(nb::object callback) : callback_(std::move(callback)) {}

  bool operator()(const Progress& progress) {
    if (error_) return true;
    const auto now = std::chrono::steady_clock::now();
    const bool last = progress.total >= 0 && progress.done >= progress.total;
    if (!last && now - last_call_ < kInterval) return false;
    last_call_ = now;
    nb::gil_scoped_acquire gil;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      return !callback_.is_none() && nb::cast<bool>(nb::bool_(callback_(progress)));
    } catch (...) {
      error_ = std::current_exception();
      return true;
    }
  }

  void check() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{50};
  nb::object callback_;
  std::exception_ptr error_;
  std::chrono::steady_clock::time_point last_call_{};
};

}  // namespace bitsweep::python
