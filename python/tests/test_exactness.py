"""Reuse changes what a sweep costs, never what it says."""

from __future__ import annotations

import pytest

import bitsweep
from bitsweep import _core
from bitsweep.analysis import SensitivityMetric, analyze_per_quantizer_sensitivity
from bitsweep.utils import make_psnr_eval_fn

# Above this, scores compare quantization noise with rounding noise of float kernels.
TRUSTED_DB = 80.0
TOLERANCE_DB = 1e-3


def compare(got: dict[str, float], want: dict[str, float]) -> None:
    """Equal scores where they mean something, and one ranking up to scores that are equal."""
    assert set(got) == set(want)
    for name, score in want.items():
        if score < TRUSTED_DB:
            assert got[name] == pytest.approx(score, abs=TOLERANCE_DB), name
        else:
            assert got[name] > TRUSTED_DB - TOLERANCE_DB, name
    trusted = [n for n in want if want[n] < TRUSTED_DB]
    order = [n for n in got if n in trusted]
    for a, b in zip(order, trusted, strict=True):
        assert a == b or want[a] == pytest.approx(want[b], abs=TOLERANCE_DB)


@pytest.mark.parametrize("metric", ["sqnr", "psnr"])
def test_reuse_gives_the_scores_of_full_simulated_runs(example, calibrate, metric):
    sim = calibrate(example)
    runs = {
        reuse: bitsweep.sweep(sim, example.feeds, metric=metric, reuse=reuse, progress=False)
        for reuse in (True, False)
    }
    compare(*({s.name: s.score for s in runs[r].scores} for r in (True, False)))


def test_python_metrics_get_the_scores_of_full_simulated_runs(example, calibrate, float_of):
    sim = calibrate(example)
    eval_fn = make_psnr_eval_fn(float_of(example.model, portable=True), example.feeds, None)
    # A plain function hides the evaluator, so the loop runs in Python.
    metric = SensitivityMetric("PSNR", lambda session: eval_fn(session), higher_is_worse=False)
    scores = {r: analyze_per_quantizer_sensitivity(sim, metric, reuse=r) for r in (True, False)}
    compare(scores[True], scores[False])


def test_native_and_python_loops_agree(example, calibrate, float_of):
    sim = calibrate(example)
    eval_fn = make_psnr_eval_fn(float_of(example.model, portable=True), example.feeds, None)
    native = SensitivityMetric("PSNR", eval_fn, higher_is_worse=False)
    python = SensitivityMetric("PSNR", lambda session: eval_fn(session), higher_is_worse=False)
    compare(*(analyze_per_quantizer_sensitivity(sim, m) for m in (native, python)))


def test_json_is_the_same_bytes_for_any_run_and_number_of_threads(example, calibrate):
    texts = []
    for num_threads in (1, 2, 1, 2):
        sim = calibrate(example)
        result = bitsweep.sweep(sim, example.feeds, num_threads=num_threads, progress=False)
        texts.append(_core.sweep_to_json(result, []))
    assert len(set(texts)) == 1
