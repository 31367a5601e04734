"""Which quantizers cost quality: sweeps, metrics, results on file and as a page."""

from __future__ import annotations

from bitsweep.analysis.metrics import SensitivityMetric, make_topk_logit_psnr_metric
from bitsweep.analysis.per_layer import analyze_per_layer_sensitivity
from bitsweep.analysis.plot import save_sensitivity_plot
from bitsweep.analysis.quant_stats_visualization import visualize_stats
from bitsweep.analysis.results import load_sensitivity_results, save_sensitivity_results
from bitsweep.analysis.sensitivity import (
    analyze_per_quantizer_sensitivity,
    get_quantizer_op_names,
    group_by_op_name,
)

__all__ = [
    "SensitivityMetric",
    "analyze_per_layer_sensitivity",
    "analyze_per_quantizer_sensitivity",
    "get_quantizer_op_names",
    "group_by_op_name",
    "load_sensitivity_results",
    "make_topk_logit_psnr_metric",
    "save_sensitivity_plot",
    "save_sensitivity_results",
    "visualize_stats",
]
