"""Where the ONNX Runtime library of this Python lies."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path

__all__ = ["library_path"]


@cache
def library_path() -> str:
    """File that the native part should open, or "" to let it search.

    The installed package ``onnxruntime`` is found without importing it. ``BITSWEEP_ORT_LIB`` has priority.
    """
    if os.environ.get("BITSWEEP_ORT_LIB"):
        return ""
    spec = importlib.util.find_spec("onnxruntime")
    for root in (spec.submodule_search_locations or []) if spec else []:
        names = ("libonnxruntime.so*", "libonnxruntime*.dylib", "onnxruntime.dll")
        for pattern in names:
            found = sorted(Path(root, "capi").glob(pattern))
            if found:
                return str(found[0])
    return ""
