"""Sensitivity of every quantizer, or group of quantizers: the score with only that one enabled."""

from __future__ import annotations

from collections.abc import Callable

from bitsweep import _core
from bitsweep._group_scores import score_groups
from bitsweep.analysis.metrics import SensitivityMetric
from bitsweep.errors import NotReadyError, error
from bitsweep.progress import ProgressCallback, resolve
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["analyze_per_quantizer_sensitivity", "get_quantizer_op_names", "group_by_op_name"]


def analyze_per_quantizer_sensitivity(
    sim: QuantizationSimModel,
    metric: SensitivityMetric,
    group_fn: Callable[[str], str | None] | None = None,
    *,
    progress: bool | ProgressCallback | None = None,
    num_threads: int = 0,
    reuse: bool = True,
) -> dict[str, float]:
    """Score every quantizer, or group, by enabling it alone.

    All quantizers are off but those of the group under test, so the score shows their damage to the float model. The
    switches of the quantizers are as before when the function ends, also after an exception or Ctrl-C. Encodings stay.

    Metrics made by ``make_psnr_eval_fn`` and ``make_topk_logit_psnr_metric`` are computed by the engine itself, sample
    by sample for all groups at once. Any other function is called once per group with ``sim.session``; what lies in
    front of the group is taken from earlier runs when the function runs the same samples again.

    Parameters
    ----------
    sim : QuantizationSimModel
        Calibrated simulation.
    metric : SensitivityMetric
        Scores a session. What it raises ends the sweep and reaches the caller.
    group_fn : callable, optional
        Quantizer name to group key. Quantizers with one key are enabled together; None leaves a quantizer off. Default:
        each enabled quantizer is a group of its own.
    progress : bool or callable, optional
        True draws a line with the time left, False is silent, None draws on a terminal only. A function gets an object
        with ``done, total, elapsed_s, remaining_s, worst, worst_score``; it returns something true to stop early.
    num_threads : int
        Groups evaluated at the same time, for metrics that the engine computes; 0: one per core.
    reuse : bool
        False runs the whole simulated model for each group: slow, for comparisons.

    Returns
    -------
    dict of str to float
        Group key to score, most sensitive first; equal scores keep the order of the quantizers.

    Raises
    ------
    RuntimeError
        When no enabled quantizer is left to analyse, or one is not calibrated.
    ValueError
        When the metric returns no number, or NaN.

    Examples
    --------
    >>> scores = analyze_per_quantizer_sensitivity(sim, metric)  # doctest: +SKIP
    >>> next(iter(scores))  # the most sensitive one  # doctest: +SKIP
    'conv1.weight'
    """
    if not isinstance(metric, SensitivityMetric):
        raise TypeError(
            f"analyze_per_quantizer_sensitivity: a SensitivityMetric is needed, not {type(metric).__name__}; "
            "wrap the function: SensitivityMetric(name, eval_fn, higher_is_worse)"
        )
    groups = _groups(sim, group_fn)
    scores = score_groups(
        sim,
        groups,
        metric.eval_fn,
        higher_is_worse=metric.higher_is_worse,
        progress=resolve(progress),
        num_threads=num_threads,
        reuse=reuse,
    )
    return dict(sorted(scores.items(), key=lambda item: -metric.sensitivity_score(item[1])))


def _groups(
    sim: QuantizationSimModel, group_fn: Callable[[str], str | None] | None
) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    enabled = [name for name, q in sim.qc_quantize_op_dict.items() if q.enabled]
    for name in enabled:
        key = name if group_fn is None else group_fn(name)
        if key is not None:
            groups.setdefault(key, []).append(name)
    if not groups:
        why = "no quantizer is enabled" if not enabled else "group_fn leaves out every quantizer"
        raise error(
            NotReadyError,
            "analyze_per_quantizer_sensitivity",
            f"there is nothing to analyse, as {why}",
            "enable quantizers, or return a key for some of them",
        )
    return groups


def get_quantizer_op_names(sim: QuantizationSimModel) -> dict[str, str]:
    """Operator that owns each quantizer.

    A parameter belongs to the first operator that it parameterises, another tensor to its producer, and a tensor
    without producer (graph input, constant) to the first operator that reads it.

    Parameters
    ----------
    sim : QuantizationSimModel

    Returns
    -------
    dict of str to str
        Quantizer name to node name.

    Examples
    --------
    >>> get_quantizer_op_names(sim)["conv1.weight"]  # doctest: +SKIP
    'conv1'
    """
    owners = _core.operator_of_tensor(sim.native)
    return {t: owners[t] for t in sim.qc_quantize_op_dict if t in owners}


def group_by_op_name(sim: QuantizationSimModel) -> Callable[[str], str | None]:
    """Group function for ``analyze_per_quantizer_sensitivity``: the quantizers of one operator together.

    Examples
    --------
    >>> scores = analyze_per_quantizer_sensitivity(sim, metric, group_by_op_name(sim))  # doctest: +SKIP
    """
    return get_quantizer_op_names(sim).get
