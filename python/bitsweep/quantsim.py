"""A float ONNX model with live quantizers: build, calibrate, change, run, export.

The caller's model is never modified. Tensors keep their names, those of the outputs too.
"""

from bitsweep._calibration import compute_encodings
from bitsweep._encodings_file import EncodingMismatch
from bitsweep._encodings_functions import encodings_to_onnx_qdq, load_encodings_to_sim
from bitsweep._parameter_settings import (
    clamp_activation_encodings,
    set_blockwise_quantization_for_weights,
    set_grouped_blockwise_quantization_for_weights,
    set_lpbq_for_params,
    set_param_type,
)
from bitsweep._quantsim import QuantizationSimModel

__all__ = [
    "EncodingMismatch",
    "QuantizationSimModel",
    "clamp_activation_encodings",
    "compute_encodings",
    "encodings_to_onnx_qdq",
    "load_encodings_to_sim",
    "set_blockwise_quantization_for_weights",
    "set_grouped_blockwise_quantization_for_weights",
    "set_lpbq_for_params",
    "set_param_type",
]

# Where users know it from.
QuantizationSimModel.__module__ = __name__
