#include <nanobind/nanobind.h>

#include "bind.h"

NB_MODULE(_core, m) {
  m.doc() = "Native part of bitsweep: models, quantizers, simulations and sweeps.";
  m.def("version", [] { return BITSWEEP_VERSION; }, "Version of the native part.");
  bitsweep::python::bind_errors(m);
  bitsweep::python::bind_model(m);
  bitsweep::python::bind_passes(m);
  bitsweep::python::bind_quantizer(m);
  bitsweep::python::bind_simulation(m);
  bitsweep::python::bind_metrics(m);
  bitsweep::python::bind_sweep(m);
  bitsweep::python::bind_report(m);
  bitsweep::python::bind_encodings_file(m);
  bitsweep::python::bind_verify(m);
  bitsweep::python::bind_allocation(m);
  bitsweep::python::bind_mix(m);
  bitsweep::python::bind_mix_problem(m);
}
