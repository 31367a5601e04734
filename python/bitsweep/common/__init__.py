"""Types and helpers that the rest of the package shares; module names follow ``aimet_onnx.common``."""
