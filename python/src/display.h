#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <utility>

namespace bitsweep::python {

/// What a function of bitsweep._display writes about an object.
inline auto shown_by(std::string function) {
  return [function = std::move(function)](const nanobind::object& self) {
    return nanobind::str(
        nanobind::module_::import_("bitsweep._display").attr(function.c_str())(self));
  };
}

/// Lets bitsweep._display write what an object shows in a terminal: `<kind>_line`.
template <typename Class>
void show_line_by_python(Class& shown, const char* kind) {
  shown.def("__repr__", shown_by(std::string(kind) + "_line"));
}

/// The same, and a table in a notebook: `<kind>_table`.
template <typename Class>
void show_by_python(Class& result, const char* kind) {
  show_line_by_python(result, kind);
  result.def("_repr_html_", shown_by(std::string(kind) + "_table"));
}

}  // namespace bitsweep::python
