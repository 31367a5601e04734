"""The native sweep: results, progress, interruption, ties."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import bitsweep
import models
from bitsweep import QuantizationSimModel
from bitsweep.analysis import (
    SensitivityMetric,
    analyze_per_quantizer_sensitivity,
    make_topk_logit_psnr_metric,
)
from bitsweep.data import Samples
from bitsweep.utils import make_psnr_eval_fn
from models import Graph


def switches(sim):
    return {n: q.enabled for n, q in sim.qc_quantize_op_dict.items()}


def endless(feeds):
    """Far more samples than a test waits for; the end keeps a failing test from hanging."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        yield from feeds


@pytest.fixture
def ctrl_c_raises():
    """Python's own handler, also where the run was started with the signal ignored (background jobs)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class TestResult:
    def test_is_ranked_and_says_what_it_cost(self, cnn, cnn_sim):
        result = bitsweep.sweep(cnn_sim, cnn.feeds, progress=False)
        assert [s.rank for s in result.scores] == list(range(1, len(result.scores) + 1))
        assert [s.score for s in result.scores] == sorted(s.score for s in result.scores)
        assert (result.metric, result.unit, result.complete) == ("sqnr", "dB", True)
        assert result.num_samples == len(cnn.feeds)
        assert all(len(s.per_sample) == len(cnn.feeds) for s in result.scores)
        assert result.num_runs > 0
        assert result.elapsed_s > 0

    @pytest.mark.parametrize("metric", [m.name for m in bitsweep.metrics() if not m.needs_labels])
    def test_every_metric_of_the_table_works(self, cnn, cnn_sim, metric):
        result = bitsweep.sweep(cnn_sim, cnn.feeds, metric=metric, progress=False)
        assert all(np.isfinite(s.score) for s in result.scores)

    def test_by_operator_scores_operators(self, cnn, cnn_sim):
        result = bitsweep.sweep(cnn_sim, cnn.feeds, group="op", progress=False)
        assert {"conv1", "fc"} <= {s.name for s in result.scores}

    def test_generators_are_taken(self, cnn, cnn_sim):
        lists = bitsweep.sweep(cnn_sim, cnn.feeds, progress=False)
        generated = bitsweep.sweep(cnn_sim, (f for f in cnn.feeds), progress=False)
        assert [(s.name, s.score) for s in lists.scores] == [
            (s.name, s.score) for s in generated.scores
        ]

    def test_files_are_taken(self, cnn, cnn_sim, tmp_path):
        path = tmp_path / "samples.npz"
        np.savez(path, x=np.concatenate([f["x"] for f in cnn.feeds]), labels=np.arange(3))
        source = bitsweep.open_samples(path, cnn_sim.model.native)
        np.testing.assert_array_equal(next(iter(source))["x"], cnn.feeds[0]["x"])
        lists = bitsweep.sweep(cnn_sim, cnn.feeds, progress=False)
        files = bitsweep.sweep(cnn_sim, source, progress=False)
        assert [(s.name, s.score) for s in lists.scores] == [
            (s.name, s.score) for s in files.scores
        ]

    def test_bad_arguments_get_a_sentence(self, cnn, cnn_sim):
        with pytest.raises(ValueError, match="sqnr"):
            bitsweep.sweep(cnn_sim, cnn.feeds, metric="best")
        with pytest.raises(ValueError, match="quantizer, op or a function"):
            bitsweep.sweep(cnn_sim, cnn.feeds, group="layer")
        with pytest.raises(bitsweep.Error):
            bitsweep.sweep(cnn_sim, [], progress=False)
        before = switches(cnn_sim)
        with pytest.raises(ValueError, match='"x" is missing'):
            bitsweep.sweep(cnn_sim, [{"wrong": cnn.feeds[0]["x"]}], progress=False)
        assert switches(cnn_sim) == before

    def test_nan_in_a_sample_is_refused(self, cnn, cnn_sim):
        x = np.full_like(cnn.feeds[0]["x"], np.nan)
        with pytest.raises(ValueError, match="NaN"):
            bitsweep.sweep(cnn_sim, [{"x": x}], progress=False)

    def test_exceptions_of_the_samples_pass(self, cnn, cnn_sim):
        def samples():
            yield cnn.feeds[0]
            raise ZeroDivisionError

        before = switches(cnn_sim)
        with pytest.raises(ZeroDivisionError):
            bitsweep.sweep(cnn_sim, samples(), progress=False)
        assert switches(cnn_sim) == before


class TestProgress:
    def test_reaches_the_end_and_names_the_worst(self, cnn, cnn_sim):
        seen = []
        result = bitsweep.sweep(cnn_sim, cnn.feeds, progress=lambda p: seen.append(p) and None)
        assert seen[-1].done == seen[-1].total == len(result.scores) * len(cnn.feeds)
        assert seen[-1].worst == result.scores[0].name
        assert [p.done for p in seen] == sorted(p.done for p in seen)

    def test_a_true_answer_stops_early(self, cnn, cnn_sim):
        before = switches(cnn_sim)
        result = bitsweep.sweep(cnn_sim, endless(cnn.feeds), progress=lambda p: True)
        assert not result.complete
        assert switches(cnn_sim) == before

    def test_an_exception_stops_and_passes(self, cnn, cnn_sim):
        def fails(progress):
            raise ZeroDivisionError

        before = switches(cnn_sim)
        with pytest.raises(ZeroDivisionError):
            bitsweep.sweep(cnn_sim, cnn.feeds, progress=fails)
        assert switches(cnn_sim) == before

    def test_python_metrics_report_too(self, cnn_sim):
        seen = []
        metric = SensitivityMetric("one", lambda s: 1.0)
        analyze_per_quantizer_sensitivity(
            cnn_sim, metric, progress=lambda p: seen.append(p.done) and None
        )
        assert seen == list(range(1, len(seen) + 1))

    def test_python_metrics_can_be_stopped(self, cnn_sim):
        metric = SensitivityMetric("one", lambda s: 1.0)
        scores = analyze_per_quantizer_sensitivity(cnn_sim, metric, progress=lambda p: p.done == 2)
        assert len(scores) == 2


def test_ctrl_c_stops_a_native_sweep_and_restores_the_switches(ctrl_c_raises):
    example = models.residual()
    sim = QuantizationSimModel(example.model)
    sim.compute_encodings(example.feeds)
    before = switches(sim)

    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            bitsweep.sweep(sim, endless(example.feeds), progress=False)
    finally:
        timer.cancel()
    assert switches(sim) == before


class TestTies:
    @pytest.fixture
    def tied(self, float_of):
        g = Graph(9)
        a = g.op("Tanh", ["a"], "left")
        b = g.op("Tanh", ["b"], "right")
        y = g.gemm(g.op("Concat", [a, b], "join", axis=1), 8, 4, "fc")
        model = g.model({"a": (1, 4), "b": (1, 4)}, {"y": y})
        rng = np.random.default_rng(0)
        feeds = [{"a": models.normal(rng, 1, 4), "b": models.normal(rng, 1, 4)} for _ in range(2)]
        sim = QuantizationSimModel(model)
        sim.compute_encodings(feeds)
        return sim, float_of(model), feeds

    def test_are_reported_under_each_name_with_one_score(self, tied):
        sim, fp, feeds = tied
        eval_fn = make_psnr_eval_fn(fp, feeds)
        for function in (eval_fn, lambda s: eval_fn(s)):
            scores = analyze_per_quantizer_sensitivity(
                sim, SensitivityMetric("PSNR", function, False)
            )
            assert scores["left.out"] == scores["right.out"] == scores["join.out"]

    def test_are_evaluated_once(self, tied):
        sim = tied[0]
        calls = []
        metric = SensitivityMetric("count", lambda s: float(calls.append(s) or len(calls)))
        scores = analyze_per_quantizer_sensitivity(sim, metric)
        distinct = {id(q) for q in sim.qc_quantize_op_dict.values() if q.enabled}
        assert len(calls) == len(distinct) < len(scores)


class TestOtherModel:
    def test_float_session_of_another_model_is_compared_through_the_session(
        self, cnn, cnn_sim, float_of
    ):
        other = models.cnn()
        bias = next(t for t in other.model.graph.initializer if t.name == "fc.bias")
        bias.raw_data = (np.frombuffer(bias.raw_data, np.float32) + np.float32(0.01)).tobytes()
        eval_fn = make_psnr_eval_fn(float_of(other.model), cnn.feeds)
        assert not eval_fn.runs_natively(cnn_sim)
        scores = analyze_per_quantizer_sensitivity(
            cnn_sim, SensitivityMetric("PSNR", eval_fn, False)
        )
        plain = SensitivityMetric("PSNR", lambda s: eval_fn(s), False)
        assert scores == analyze_per_quantizer_sensitivity(cnn_sim, plain)


class TestTiesAmongLogits:
    def test_are_scored_as_the_metric_itself_scores_them(self, float_of):
        g = Graph(10)
        y = g.op("Relu", [g.gemm("x", 6, 12, "fc")], "relu")  # many zeros: equal logits
        model = g.model({"x": (4, 6)}, {"y": y})
        feeds = [{"x": models.normal(np.random.default_rng(i), 4, 6)} for i in range(2)]
        sim = QuantizationSimModel(model, param_type="int4")
        sim.compute_encodings(feeds)
        metric = make_topk_logit_psnr_metric(float_of(model), feeds, k=10)
        scores = analyze_per_quantizer_sensitivity(sim, metric)
        for q in sim.qc_quantize_op_dict.values():
            q.enabled = False
        for name, score in scores.items():
            sim.qc_quantize_op_dict[name].enabled = True
            assert metric(sim.session) == pytest.approx(score, abs=1e-3)
            sim.qc_quantize_op_dict[name].enabled = False


class TestSamples:
    def test_generators_are_consumed_once_and_repeated(self):
        made = []
        samples = Samples({"x": made.append(i) or i} for i in range(3))
        first, second = iter(samples), iter(samples)
        assert next(first) == next(second) == {"x": 0}
        assert len(list(first)) == 2
        assert len(list(samples)) == 3
        assert made == [0, 1, 2]

    def test_refuses_what_holds_no_samples(self):
        with pytest.raises(ValueError, match=r"\[feed\]"):
            Samples({"x": 1})
        with pytest.raises(ValueError, match="NoneType"):
            Samples(None)
