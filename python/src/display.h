#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace bitsweep::python {

/// Lets bitsweep._display write what a result shows in a terminal and in a notebook: it has
/// functions `<kind>_line` and `<kind>_table`.
template <typename Class>
void show_by_python(Class& result, const char* kind) {
  const auto shown = [kind](const char* how) {
    return [name = std::string(kind) + how](const nanobind::object& self) {
      return nanobind::str(
          nanobind::module_::import_("bitsweep._display").attr(name.c_str())(self));
    };
  };
  result.def("__repr__", shown("_line"));
  result.def("_repr_html_", shown("_table"));
}

}  // namespace bitsweep::python
