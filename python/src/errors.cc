#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "bind.h"
#include "bitsweep/error.h"

namespace nb = nanobind;

namespace bitsweep::python {
namespace {

/// Name of the class in bitsweep.errors that carries this code.
const char* class_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "InvalidArgumentError";
    case ErrorCode::kInvalidModel:
      return "InvalidModelError";
    case ErrorCode::kInvalidData:
      return "InvalidDataError";
    case ErrorCode::kNotFound:
      return "NotFoundError";
    case ErrorCode::kIo:
      return "IoError";
    case ErrorCode::kRuntime:
      return "OnnxRuntimeError";
    case ErrorCode::kNotReady:
      return "NotReadyError";
    case ErrorCode::kCancelled:
      return "CancelledError";
  }
  return "Error";
}

}  // namespace

void raise_in_python(const Error& error) {
  try {
    nb::object type = nb::module_::import_("bitsweep.errors").attr(class_name(error.code()));
    nb::object exception = type(error.what());
    exception.attr("where") = error.where();
    exception.attr("fix") = error.fix();
    PyErr_SetObject(type.ptr(), exception.ptr());
  } catch (nb::python_error& e) {
    e.restore();
  }
}

void bind_errors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      raise_in_python(e);
    }
  });
}

}  // namespace bitsweep::python
