#pragma once

#include <nanobind/nanobind.h>

namespace bitsweep {
class Error;
}

namespace bitsweep::python {

/// One function per public header; each adds its classes and functions to the module.
void bind_errors(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_passes(nanobind::module_& m);
void bind_quantizer(nanobind::module_& m);
void bind_simulation(nanobind::module_& m);
void bind_metrics(nanobind::module_& m);
void bind_sweep(nanobind::module_& m);
void bind_report(nanobind::module_& m);
void bind_encodings_file(nanobind::module_& m);
void bind_verify(nanobind::module_& m);
void bind_allocation(nanobind::module_& m);
void bind_mix(nanobind::module_& m);
void bind_mix_problem(nanobind::module_& m);

/// Sets the current Python exception to the class of bitsweep.errors that belongs to the code.
/// Needs the GIL.
void raise_in_python(const Error& error);

}  // namespace bitsweep::python
