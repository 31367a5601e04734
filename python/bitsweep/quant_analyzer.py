"""Sensitivity per layer, under the module name that scripts of the peer import."""

from __future__ import annotations

from bitsweep.analysis.per_layer import analyze_per_layer_sensitivity

__all__ = ["analyze_per_layer_sensitivity"]
