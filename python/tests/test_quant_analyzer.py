"""The analyzer: its numbers, its files, and what it leaves alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

import models
from bitsweep.analysis import SensitivityMetric
from bitsweep.common.defs import CallbackFunc, QuantScheme
from bitsweep.quant_analyzer import QuantAnalyzer
from bitsweep.utils import make_psnr_eval_fn


def run_all(session, feeds):
    for feed in feeds:
        session.run(None, feed)


@pytest.fixture
def analyzer(cnn, float_of):
    eval_fn = make_psnr_eval_fn(float_of(cnn.model), cnn.feeds)
    return QuantAnalyzer(cnn.model, None, CallbackFunc(run_all, cnn.feeds), eval_fn)


class TestAnalyze:
    def test_scores_whole_and_parts_and_writes_the_peers_files(self, cnn, analyzer, tmp_path):
        before = cnn.model.SerializeToString()
        analyzer.enable_per_layer_mse_loss(cnn.feeds, 2)
        found = analyzer.analyze(results_dir=tmp_path)
        assert cnn.model.SerializeToString() == before
        assert found.float_score == 100.0
        assert found.weights_score < 100.0
        assert found.activations_score < 100.0
        assert list(found.enabled) == list(found.disabled)
        assert min(found.enabled.values()) > min(found.disabled.values())
        assert all(loss > 0 for loss in found.mse.values())
        for name, scores in (
            ("per_layer_quant_enabled", found.enabled),
            ("per_layer_quant_disabled", found.disabled),
            ("per_layer_mse_loss", found.mse),
        ):
            text = (tmp_path / f"{name}.json").read_text()
            assert json.loads(text) == scores
            assert text.startswith('{\n    "')
            assert (tmp_path / f"{name}.html").is_file()
        weights = json.loads((tmp_path / "min_max_ranges" / "weights.json").read_text())
        low, high = weights["fc_weight"]["fc_weight_0"]
        assert low < 0 < high
        low, high = json.loads((tmp_path / "min_max_ranges" / "activations.json").read_text())[
            "conv1_input_0"
        ]
        assert low < 0 < high
        assert (tmp_path / "min_max_ranges" / "activations.html").is_file()
        assert (tmp_path / "activations_pdf" / "conv1_input_q0.html").is_file()
        assert (tmp_path / "weights_pdf" / "fc" / "fc_weight.html").is_file()

    def test_min_max_keeps_no_histograms_and_gets_none(self, analyzer, tmp_path):
        analyzer.analyze(QuantScheme.min_max, results_dir=tmp_path)
        assert not (tmp_path / "activations_pdf").exists()
        assert not (tmp_path / "per_layer_mse_loss.json").exists()

    def test_histograms_of_min_max_are_refused(self, cnn_sim, analyzer, tmp_path):
        with pytest.raises(RuntimeError, match="keeps a histogram"):
            analyzer.export_per_layer_stats_histogram(cnn_sim, tmp_path)

    def test_continues_in_its_run_directory(self, cnn, tmp_path):
        calls = []

        def eval_fn(session):
            calls.append(1)
            return float(session.run(None, cnn.feeds[0])[0].sum())

        metric = SensitivityMetric("sum", eval_fn, identity="sum of the outputs")
        analyzer = QuantAnalyzer(cnn.model, None, CallbackFunc(run_all, cnn.feeds), metric)
        first = analyzer.analyze(results_dir=tmp_path, run_directory=tmp_path / "run")
        whole_model = 3
        num_calls = len(calls)
        again = analyzer.analyze(results_dir=tmp_path, run_directory=tmp_path / "run")
        assert again == first
        assert len(calls) == num_calls + whole_model

    def test_ranges_by_channel_have_a_page_of_their_own(self, cnn_sim, analyzer, tmp_path):
        analyzer.export_per_layer_encoding_min_max_range(cnn_sim, tmp_path)
        weights = json.loads((tmp_path / "min_max_ranges" / "weights.json").read_text())
        channels = weights["conv1_weight"]
        assert list(channels)[:2] == ["conv1_weight_0", "conv1_weight_1"]
        assert (tmp_path / "min_max_ranges" / "conv1_weight.html").is_file()


class TestLayerErrors:
    def test_equal_what_the_outputs_of_a_layer_differ_by(self, cnn, cnn_sim, analyzer, tmp_path):
        analyzer.enable_per_layer_mse_loss([[f["x"]] for f in cnn.feeds], len(cnn.feeds))
        losses = analyzer.export_per_layer_mse_loss(cnn_sim, tmp_path)
        squares = [
            (cnn_sim.session.run(None, f)[0] - cnn_sim.session.run_float(None, f)[0]) ** 2
            for f in cnn.feeds
        ]
        last = cnn_sim.operators[-1].name
        assert losses[last] == pytest.approx(np.mean(squares), rel=1e-3)

    def test_too_few_samples_are_refused(self, cnn, analyzer):
        with pytest.raises(ValueError, match="num_batches is 9 of 3"):
            analyzer.enable_per_layer_mse_loss(cnn.feeds[:3], 9)


class TestArguments:
    def test_functions_have_to_be_callable(self, cnn):
        with pytest.raises(ValueError, match="forward_pass_callback is a int"):
            QuantAnalyzer(cnn.model, None, 1, run_all)
        with pytest.raises(ValueError, match="eval_callback is a NoneType"):
            QuantAnalyzer(cnn.model, None, run_all, None)

    def test_layers_whose_file_names_would_collide_keep_apart(self, float_of, tmp_path):
        g = models.Graph(5)
        a = g.op("Relu", [g.conv("x", 3, 4, "a.b")], "r1")
        y = g.op("Relu", [g.conv(a, 4, 4, "a/b")], "r2")
        model = g.model({"x": (1, 3, 8, 8)}, {"y": y})
        feeds = [{"x": models.normal(np.random.default_rng(0), 1, 3, 8, 8)}]
        eval_fn = make_psnr_eval_fn(float_of(model), feeds)
        analyzer = QuantAnalyzer(model, None, CallbackFunc(run_all, feeds), eval_fn)
        analyzer.analyze(results_dir=tmp_path)
        weights = json.loads((tmp_path / "min_max_ranges" / "weights.json").read_text())
        assert {"a_b_weight", "a_b_2_weight"} <= set(weights)
