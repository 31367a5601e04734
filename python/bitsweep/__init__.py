"""Which tensors of an ONNX model cannot stand low precision.

Build a simulation, calibrate it, sweep it:

>>> from bitsweep import QuantizationSimModel, sweep
>>> sim = QuantizationSimModel("model.onnx")  # doctest: +SKIP
>>> sim.compute_encodings(feeds)  # doctest: +SKIP
>>> sweep(sim, feeds).scores[0]  # the most sensitive quantizer  # doctest: +SKIP

Module and class names follow ``aimet_onnx``: a script ports by changing the import.
"""

from __future__ import annotations

from bitsweep import _core
from bitsweep.analysis.per_layer import analyze_per_layer_sensitivity
from bitsweep.common.defs import (
    bfloat16,
    float8e4m3fn,
    float8e5m2,
    float16,
    int2,
    int4,
    int8,
    int16,
    qtype,
)
from bitsweep.data import open_samples
from bitsweep.defs import QSpec
from bitsweep.errors import Error
from bitsweep.mixing import apply_policy, mix, mix_costs, save_mix_plot, save_policy
from bitsweep.quantsim import QuantizationSimModel, compute_encodings
from bitsweep.sweeping import metrics, save_sweep_plot, save_sweep_results, sweep
from bitsweep.verification import quantize, verify

__version__ = _core.version()

__all__ = [
    "Error",
    "QSpec",
    "QuantizationSimModel",
    "__version__",
    "analyze_per_layer_sensitivity",
    "apply_policy",
    "bfloat16",
    "compute_encodings",
    "float8e4m3fn",
    "float8e5m2",
    "float16",
    "int2",
    "int4",
    "int8",
    "int16",
    "metrics",
    "mix",
    "mix_costs",
    "open_samples",
    "qtype",
    "quantize",
    "save_mix_plot",
    "save_policy",
    "save_sweep_plot",
    "save_sweep_results",
    "sweep",
    "verify",
]
