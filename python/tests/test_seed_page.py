"""Each function of the documentation page of the sensitivity API, used as the page says."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest

import models
from bitsweep import QuantizationSimModel, analysis, int16
from bitsweep.analysis import (
    SensitivityMetric,
    analyze_per_layer_sensitivity,
    analyze_per_quantizer_sensitivity,
    get_quantizer_op_names,
    group_by_op_name,
    load_sensitivity_results,
    make_topk_logit_psnr_metric,
    save_sensitivity_plot,
    save_sensitivity_results,
    visualize_stats,
)
from bitsweep.common.utils import compute_psnr
from bitsweep.lite_mp import flip_layers_to_higher_precision
from bitsweep.utils import make_psnr_eval_fn
from models import Graph


@pytest.fixture
def psnr(cnn, float_of):
    return SensitivityMetric(
        "PSNR", make_psnr_eval_fn(float_of(cnn.model), cnn.feeds), higher_is_worse=False
    )


@pytest.fixture(scope="module")
def language() -> models.Example:
    return models.transformer()


def switches(sim):
    return {n: q.enabled for n, q in sim.qc_quantize_op_dict.items()}


def enabled(sim):
    return [n for n, on in switches(sim).items() if on]


class TestSensitivityMetric:
    def test_positional_and_default_arguments(self):
        metric = SensitivityMetric("ppl", len)
        assert (metric.name, metric.eval_fn, metric.higher_is_worse) == ("ppl", len, True)

    def test_calls_its_function_with_the_session(self):
        assert SensitivityMetric("m", lambda session: session * 2)(21) == 42

    def test_sensitivity_score_is_larger_for_more_sensitive(self):
        assert SensitivityMetric("m", len, True).sensitivity_score(3.0) == 3.0
        assert SensitivityMetric("m", len, False).sensitivity_score(3.0) == -3.0

    @pytest.mark.parametrize("eval_fn", [None, 3, "psnr"])
    def test_refuses_what_cannot_be_called(self, eval_fn):
        with pytest.raises(ValueError, match="cannot be called"):
            SensitivityMetric("m", eval_fn)


class TestTopkLogitPsnr:
    def test_compares_the_largest_float_logits_of_all_samples_at_once(
        self, language, float_of, calibrate
    ):
        fp, sim = float_of(language.model), calibrate(language)
        metric = make_topk_logit_psnr_metric(fp, (f for f in language.feeds), k=3)
        want, got = [], []
        for feed in language.feeds:
            reference = fp.run(None, feed)[0]
            picks = np.argsort(reference, axis=-1)[..., -3:]
            want.append(np.take_along_axis(reference, picks, -1).ravel())
            got.append(np.take_along_axis(sim.session.run(None, feed)[0], picks, -1).ravel())
        expected = compute_psnr(np.concatenate(want), np.concatenate(got))
        assert metric(sim.session) == pytest.approx(expected, abs=1e-4)
        assert (metric.name, metric.higher_is_worse) == ("Top3LogitPSNR", False)

    def test_k_beyond_the_vocabulary_takes_all(self, language, float_of, calibrate):
        fp, sim = float_of(language.model), calibrate(language)
        metric = make_topk_logit_psnr_metric(fp, language.feeds, k=1000)
        assert metric.name == "Top1000LogitPSNR"
        assert metric(sim.session) == pytest.approx(
            make_psnr_eval_fn(fp, language.feeds)(sim.session)
        )

    def test_refuses_missing_outputs_and_samples(self, language, float_of):
        fp = float_of(language.model)
        with pytest.raises(ValueError, match="no output 1"):
            make_topk_logit_psnr_metric(fp, language.feeds, logit_output_index=1)
        with pytest.raises(ValueError, match="no samples"):
            make_topk_logit_psnr_metric(fp, [])
        with pytest.raises(ValueError, match="k is 0"):
            make_topk_logit_psnr_metric(fp, language.feeds, k=0)

    def test_drives_a_sweep(self, language, float_of, calibrate):
        sim = calibrate(language)
        metric = make_topk_logit_psnr_metric(float_of(language.model), language.feeds, k=5)
        scores = analyze_per_quantizer_sensitivity(sim, metric)
        assert list(scores.values()) == sorted(scores.values())
        assert set(scores) == set(enabled(sim))


class TestPerQuantizerSweep:
    def test_scores_are_those_of_one_quantizer_enabled_alone(self, cnn_sim, psnr):
        scores = analyze_per_quantizer_sensitivity(cnn_sim, psnr)
        q = cnn_sim.qc_quantize_op_dict
        names = enabled(cnn_sim)
        for name in names:
            q[name].enabled = False
        for name in names:
            q[name].enabled = True
            assert scores[name] == pytest.approx(psnr(cnn_sim.session), abs=1e-3)
            q[name].enabled = False

    def test_is_ordered_most_sensitive_first(self, cnn_sim, psnr):
        falling = SensitivityMetric("damage", lambda s: -psnr(s), higher_is_worse=True)
        by_psnr = analyze_per_quantizer_sensitivity(cnn_sim, psnr)
        by_damage = analyze_per_quantizer_sensitivity(cnn_sim, falling)
        assert list(by_psnr.values()) == sorted(by_psnr.values())
        assert list(by_damage.values()) == sorted(by_damage.values(), reverse=True)
        assert list(by_psnr)[:5] == list(by_damage)[:5]

    def test_equal_scores_keep_the_order_of_the_quantizers(self, cnn_sim):
        scores = analyze_per_quantizer_sensitivity(cnn_sim, SensitivityMetric("one", lambda s: 1.0))
        assert list(scores) == enabled(cnn_sim)

    def test_groups_are_enabled_together(self, cnn_sim):
        seen = []
        metric = SensitivityMetric("count", lambda s: seen.append(enabled(cnn_sim)) or len(seen))
        kinds = {n: "weights" if "weight" in n else "others" for n in enabled(cnn_sim)}
        analyze_per_quantizer_sensitivity(cnn_sim, metric, group_fn=kinds.get)
        assert len(seen) == 2
        assert all("weight" in n for n in seen[0])
        assert sorted(seen[0] + seen[1]) == sorted(kinds)

    def test_none_leaves_a_quantizer_off(self, cnn_sim, psnr):
        chosen = {"x", "conv1.weight"}
        scores = analyze_per_quantizer_sensitivity(
            cnn_sim, psnr, group_fn=lambda name: name if name in chosen else None
        )
        assert set(scores) == chosen

    def test_disabled_quantizers_are_not_analysed(self, cnn_sim, psnr):
        cnn_sim.qc_quantize_op_dict["x"].enabled = False
        before = switches(cnn_sim)
        assert "x" not in analyze_per_quantizer_sensitivity(cnn_sim, psnr)
        assert switches(cnn_sim) == before

    def test_encodings_stay(self, cnn_sim, psnr):
        before = {n: q.get_encodings() for n, q in cnn_sim.qc_quantize_op_dict.items()}
        analyze_per_quantizer_sensitivity(cnn_sim, psnr)
        assert {n: q.get_encodings() for n, q in cnn_sim.qc_quantize_op_dict.items()} == before

    @pytest.mark.parametrize("group_fn", [None, lambda name: None], ids=["all off", "all skipped"])
    def test_nothing_to_analyse_is_a_runtime_error(self, cnn_sim, psnr, group_fn):
        if group_fn is None:
            for q in cnn_sim.qc_quantize_op_dict.values():
                q.enabled = False
        with pytest.raises(RuntimeError, match="nothing to analyse"):
            analyze_per_quantizer_sensitivity(cnn_sim, psnr, group_fn)

    def test_uncalibrated_simulation_is_a_runtime_error(self, cnn, psnr):
        sim = QuantizationSimModel(cnn.model)
        before = switches(sim)
        for metric in (psnr, SensitivityMetric("mine", lambda s: psnr(s))):
            with pytest.raises(RuntimeError, match="calibrat"):
                analyze_per_quantizer_sensitivity(sim, metric)
            assert switches(sim) == before

    @pytest.mark.parametrize(("kind", "call"), [(ZeroDivisionError, 1), (KeyboardInterrupt, 3)])
    def test_exceptions_of_the_metric_pass_and_switches_are_restored(self, cnn_sim, kind, call):
        calls = []

        def fails(session):
            calls.append(session)
            if len(calls) >= call:
                raise kind
            return 1.0

        before = switches(cnn_sim)
        with pytest.raises(kind):
            analyze_per_quantizer_sensitivity(cnn_sim, SensitivityMetric("m", fails))
        assert switches(cnn_sim) == before

    @pytest.mark.parametrize("score", [float("nan"), None, "high"])
    def test_scores_that_cannot_be_ranked_are_refused(self, cnn_sim, score):
        before = switches(cnn_sim)
        with pytest.raises(ValueError, match=enabled(cnn_sim)[0]):
            analyze_per_quantizer_sensitivity(cnn_sim, SensitivityMetric("m", lambda s: score))
        assert switches(cnn_sim) == before

    def test_a_bare_function_is_a_type_error(self, cnn_sim):
        with pytest.raises(TypeError, match="SensitivityMetric"):
            analyze_per_quantizer_sensitivity(cnn_sim, lambda s: 1.0)


class TestOperators:
    def test_owners_are_parameter_then_producer_then_reader(self, cnn_sim):
        owners = get_quantizer_op_names(cnn_sim)
        assert owners["conv1.weight"] == "conv1"
        assert owners["conv2.out"] == "conv2"
        assert owners["x"] == "conv1"
        assert set(owners) <= set(cnn_sim.qc_quantize_op_dict)

    def test_group_function_gives_none_for_strangers(self, cnn_sim):
        group = group_by_op_name(cnn_sim)
        assert group("fc.weight") == "fc"
        assert group("no_such") is None

    def test_sweep_by_operator_scores_operators(self, cnn_sim, psnr):
        scores = analyze_per_quantizer_sensitivity(cnn_sim, psnr, group_by_op_name(cnn_sim))
        assert {"conv1", "conv2", "conv3", "fc"} <= set(scores)


class TestPerLayerSweep:
    def test_scores_come_in_topological_order(self, cnn_sim, psnr):
        scores = analyze_per_layer_sensitivity(cnn_sim, psnr.eval_fn)
        order = [op.name for op in cnn_sim.operators if op.name in scores]
        assert list(scores) == order
        assert next(iter(scores)) == "conv1"

    def test_a_layer_is_its_inputs_outputs_and_parameters(self, cnn_sim):
        seen = []
        analyze_per_layer_sensitivity(cnn_sim, lambda s: seen.append(enabled(cnn_sim)) or 0.0)
        assert sorted(seen[0]) == ["conv1.weight", "x"]

    def test_switches_are_restored_on_exceptions(self, cnn_sim):
        before = switches(cnn_sim)

        def fails(session):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            analyze_per_layer_sensitivity(cnn_sim, fails)
        assert switches(cnn_sim) == before

    def test_refuses_what_cannot_be_called_and_nothing_to_do(self, cnn_sim):
        with pytest.raises(ValueError, match="cannot be called"):
            analyze_per_layer_sensitivity(cnn_sim, 1)
        for q in cnn_sim.qc_quantize_op_dict.values():
            q.enabled = False
        with pytest.raises(RuntimeError, match="no operator"):
            analyze_per_layer_sensitivity(cnn_sim, lambda s: 1.0)

    def test_page_gets_its_folder_and_suffix(self, cnn_sim, psnr, tmp_path):
        analyze_per_layer_sensitivity(cnn_sim, psnr.eval_fn, tmp_path / "new" / "page")
        assert "conv1" in (tmp_path / "new" / "page.html").read_text()


class TestPlot:
    SCORES = {"a.q_proj": 20.0, "b.up_proj": 12.5, "c": 40.0}  # noqa: RUF012
    METRIC = SensitivityMetric("PSNR", len, higher_is_worse=False)

    def test_is_one_page_with_all_names_and_the_title(self, tmp_path):
        path = tmp_path / "plot.html"
        save_sensitivity_plot(self.SCORES, self.METRIC, str(path))
        text = path.read_text()
        assert all(name in text for name in self.SCORES)
        assert "Quantization Sensitivity (PSNR)" in text
        assert "q_proj" in text
        assert [p.name for p in tmp_path.iterdir()] == ["plot.html"]

    def test_patterns_and_details_are_shown(self, tmp_path):
        path = tmp_path / "plot.html"
        save_sensitivity_plot(
            self.SCORES, self.METRIC, path, ["my_pattern"], {"c": "int4 here"}, "Format"
        )
        text = path.read_text()
        assert all(part in text for part in ("my_pattern", "int4 here", "Format"))

    def test_default_path_is_in_the_working_folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        save_sensitivity_plot(self.SCORES, self.METRIC)
        assert (tmp_path / "sensitivity_plot.html").exists()

    def test_checks_folder_then_suffix_then_scores(self, tmp_path):
        with pytest.raises(NotADirectoryError, match="none"):
            save_sensitivity_plot({}, self.METRIC, tmp_path / "none" / "plot.txt")
        with pytest.raises(ValueError, match=r"\.html"):
            save_sensitivity_plot({}, self.METRIC, tmp_path / "plot.txt")
        with pytest.raises(ValueError, match="no scores"):
            save_sensitivity_plot({}, self.METRIC, tmp_path / "plot.html")


class TestResultsFile:
    SCORES = {"z": 1.5, "a": 2.0, "ä": -3.25}  # noqa: RUF012

    def test_keeps_order_and_numbers(self, tmp_path):
        path = tmp_path / "results.json"
        save_sensitivity_results(self.SCORES, str(path))
        assert list(load_sensitivity_results(str(path)).items()) == list(self.SCORES.items())

    def test_holds_rank_name_score_and_detail(self, tmp_path):
        path = tmp_path / "results.json"
        save_sensitivity_results(self.SCORES, path, details={"a": "int8"})
        assert json.loads(path.read_text(encoding="utf-8")) == {
            "ranking": [
                {"rank": 1, "name": "z", "score": 1.5},
                {"rank": 2, "name": "a", "score": 2.0, "detail": "int8"},
                {"rank": 3, "name": "ä", "score": -3.25},
            ]
        }
        assert load_sensitivity_results(path) == self.SCORES

    def test_default_path_is_in_the_working_folder(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        save_sensitivity_results(self.SCORES)
        assert load_sensitivity_results("sensitivity_results.json") == self.SCORES

    def test_bad_files_get_a_sentence(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"none\.json"):
            load_sensitivity_results(tmp_path / "none.json")
        for i, text in enumerate(["", "{}", "[1]", '{"ranking": [{"name": "a"}]}']):
            path = tmp_path / f"{i}.json"
            path.write_text(text)
            with pytest.raises(ValueError, match="no sensitivity ranking"):
                load_sensitivity_results(path)

    def test_folders_that_are_missing_get_a_sentence(self, tmp_path):
        with pytest.raises(OSError, match="none"):
            save_sensitivity_results(self.SCORES, tmp_path / "none" / "r.json")


class TestRanges:
    def test_pages_list_activations_and_weights(self, cnn_sim, tmp_path):
        visualize_stats(cnn_sim, tmp_path / "ranges.html")
        assert sorted(p.name for p in tmp_path.iterdir()) == [
            "ranges_activations.html",
            "ranges_weights.html",
        ]
        assert "conv1.weight" in (tmp_path / "ranges_weights.html").read_text()
        assert "conv2.out" not in (tmp_path / "ranges_weights.html").read_text()

    def test_a_page_without_entries_is_not_written(self, cnn_sim, tmp_path):
        for q in cnn_sim.get_all_quantizers()[0]:
            q.enabled = False
        visualize_stats(cnn_sim, tmp_path / "ranges.html")
        assert [p.name for p in tmp_path.iterdir()] == ["ranges_activations.html"]

    def test_bad_input_gets_a_sentence(self, cnn, cnn_sim, tmp_path):
        with pytest.raises(TypeError, match="dict"):
            visualize_stats({}, tmp_path / "ranges.html")
        with pytest.raises(NotADirectoryError, match="none"):
            visualize_stats(cnn_sim, tmp_path / "none" / "ranges.html")
        with pytest.raises(ValueError, match=r"\.html"):
            visualize_stats(cnn_sim, tmp_path / "ranges.txt")
        with pytest.raises(RuntimeError, match="no enabled quantizer"):
            visualize_stats(QuantizationSimModel(cnn.model), tmp_path / "ranges.html")


class TestPsnrFunction:
    def test_is_that_of_the_worst_output_with_all_samples_stacked(self, float_of, calibrate):
        example = models.multi_output()
        fp, sim = float_of(example.model), calibrate(example)
        want = [np.stack(o) for o in zip(*(fp.run(None, f) for f in example.feeds), strict=True)]
        got = [
            np.stack(o)
            for o in zip(*(sim.session.run(None, f) for f in example.feeds), strict=True)
        ]
        each = [compute_psnr(a, b) for a, b in zip(want, got, strict=True)]
        with pytest.warns(UserWarning, match=r"\[0, 1, 2\]"):
            assert make_psnr_eval_fn(fp, example.feeds)(sim.session) == pytest.approx(min(each))
        for i in range(3):
            one = make_psnr_eval_fn(fp, example.feeds, output_indices=i)
            assert one(sim.session) == pytest.approx(each[i])
        two = make_psnr_eval_fn(fp, example.feeds, [0, -1])
        assert two(sim.session) == pytest.approx(min(each[0], each[2]))

    def test_samples_may_differ_in_shape(self, language, float_of, calibrate):
        score = make_psnr_eval_fn(float_of(language.model), language.feeds)(
            calibrate(language).session
        )
        assert 10 < score < 60

    def test_refuses_models_without_float_output(self):
        class Session:
            def get_outputs(self):
                return [type("Output", (), {"name": "i", "type": "tensor(int64)"})]

        with pytest.raises(RuntimeError, match="int64"):
            make_psnr_eval_fn(Session(), [{}])

    def test_refuses_outputs_that_do_not_exist(self, cnn, float_of):
        with pytest.raises(ValueError, match="no output 4"):
            make_psnr_eval_fn(float_of(cnn.model), cnn.feeds, 4)


class TestFlip:
    def test_raises_the_most_sensitive_layers(self, cnn, cnn_sim, psnr):
        scores = analyze_per_quantizer_sensitivity(cnn_sim, psnr, group_by_op_name(cnn_sim))
        before = psnr(cnn_sim.session)
        flip_layers_to_higher_precision(cnn_sim, scores, 50, int16)
        cnn_sim.compute_encodings(cnn.feeds)
        assert psnr(cnn_sim.session) > before

    def test_takes_the_part_asked_for_rounded_up(self, cnn_sim):
        scores = {"conv1": 10.0, "conv2": 5.0, "conv3": 20.0}
        flip_layers_to_higher_precision(cnn_sim, scores, 34, (int16, int16))
        raised = {n for n, q in cnn_sim.qc_quantize_op_dict.items() if q.bitwidth == 16}
        assert {"conv1.weight", "conv2.weight"} <= raised
        assert "conv3.weight" not in raised

    def test_default_is_float16_of_a_tenth(self, cnn_sim):
        flip_layers_to_higher_precision(cnn_sim, {"conv1": 1.0, "fc": 2.0})
        q = cnn_sim.qc_quantize_op_dict
        assert str(q["conv1.weight"].precision()) == "float16"
        assert str(q["fc.weight"].precision()) == "int8"

    def test_layers_of_several_nodes_are_known_by_their_own_and_by_the_peers_name(
        self,
    ):
        for name in ("lm_head.matmul+lm_head.add", "node_Gemm_0"):
            g = Graph(1)
            y = g.linear("x", 8, 4, "lm_head")
            sim = QuantizationSimModel(g.model({"x": (1, 8)}, {"y": y}))
            flip_layers_to_higher_precision(sim, {name: 1.0}, 100, int16)
            assert sim.qc_quantize_op_dict["lm_head.weight"].bitwidth == 16

    def test_weights_of_norms_keep_eight_bits(self, language, calibrate):
        sim = calibrate(language)
        flip_layers_to_higher_precision(sim, {"l0.norm1": 1.0}, 100, ("int4", int16))
        assert sim.qc_quantize_op_dict["l0.norm1.weight"].bitwidth == 8
        assert sim.qc_quantize_op_dict["l0.norm1.out"].bitwidth == 16

    def test_refuses_other_precisions_and_unknown_layers(self, cnn_sim):
        for override in ("int8", (int16,), (int16, "int4"), (int16, int16, int16)):
            with pytest.raises(ValueError, match="flip_layers"):
                flip_layers_to_higher_precision(cnn_sim, {"conv1": 1.0}, 10, override)
        with pytest.raises(KeyError, match="no_such"):
            flip_layers_to_higher_precision(cnn_sim, {"no_such": 1.0}, 100)


def test_signatures_are_those_of_the_page():
    expected = {
        "SensitivityMetric": "name, eval_fn, higher_is_worse",
        "make_topk_logit_psnr_metric": "fp_session, inputs, k, logit_output_index",
        "analyze_per_quantizer_sensitivity": "sim, metric, group_fn",
        "save_sensitivity_plot": "scores, metric, save_path, highlight_patterns",
        "save_sensitivity_results": "scores, save_path",
        "load_sensitivity_results": "input_path",
    }
    for name, parameters in expected.items():
        have = list(inspect.signature(getattr(analysis, name)).parameters)
        assert have[: len(parameters.split(", "))] == parameters.split(", "), name
