"""What a native sweep can do beyond one score per quantizer."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import bitsweep
from bitsweep import QuantizationSimModel
from bitsweep.analysis import SensitivityMetric, analyze_per_quantizer_sensitivity


def by_name(result):
    return {s.name: s.score for s in result.scores}


class TestChoice:
    def test_weights_activations_and_patterns(self, cnn, cnn_sim):
        everything = by_name(bitsweep.sweep(cnn_sim, cnn.feeds, progress=False))
        weights = by_name(bitsweep.sweep(cnn_sim, cnn.feeds, only="weights", progress=False))
        activations = by_name(
            bitsweep.sweep(cnn_sim, cnn.feeds, only="activations", progress=False)
        )
        assert set(weights) | set(activations) == set(everything)
        assert "conv1.weight" in weights
        named = by_name(bitsweep.sweep(cnn_sim, cnn.feeds, include="conv*.weight", progress=False))
        assert set(named) == {n for n in weights if n.startswith("conv")}

    def test_use_of_threads(self, cnn, cnn_sim):
        expected = by_name(bitsweep.sweep(cnn_sim, cnn.feeds, progress=False))
        shared = bitsweep.sweep(
            cnn_sim, cnn.feeds, num_threads=2, thread_use="runs", progress=False
        )
        assert by_name(shared) == pytest.approx(expected, abs=1e-2)
        with pytest.raises(ValueError, match="states, runs, measured"):
            bitsweep.sweep(cnn_sim, cnn.feeds, thread_use="all", progress=False)

    def test_outputs_by_name_or_position(self, cnn, cnn_sim):
        name = cnn_sim.session.get_outputs()[0].name
        by_position = bitsweep.sweep(cnn_sim, cnn.feeds, outputs=[0], progress=False)
        named = bitsweep.sweep(cnn_sim, cnn.feeds, outputs=[name], progress=False)
        assert by_name(named) == by_name(by_position)
        with pytest.raises(ValueError, match="no output of the model is named"):
            bitsweep.sweep(cnn_sim, cnn.feeds, outputs=["logit"])

    def test_groups_of_the_users_own(self, cnn, cnn_sim):
        result = bitsweep.sweep(
            cnn_sim,
            cnn.feeds,
            group=lambda name: "weights" if name.endswith("weight") else None,
            progress=False,
        )
        assert [s.name for s in result.scores] == ["weights"]

    def test_nothing_left_is_an_error_with_the_way_out(self, cnn, cnn_sim):
        with pytest.raises(RuntimeError, match="no enabled quantizer is left"):
            bitsweep.sweep(cnn_sim, cnn.feeds, group=lambda name: None)
        with pytest.raises(RuntimeError, match="group_fn leaves out every quantizer"):
            analyze_per_quantizer_sensitivity(
                cnn_sim, SensitivityMetric("one", lambda s: 1.0), lambda name: None
            )
        for q in cnn_sim.qc_quantize_op_dict.values():
            q.enabled = False
        with pytest.raises(RuntimeError, match="enable quantizers"):
            bitsweep.sweep(cnn_sim, cnn.feeds)

    def test_uncalibrated_simulations_are_named(self, cnn):
        with pytest.raises(RuntimeError, match="calibrate first"):
            bitsweep.sweep(QuantizationSimModel(cnn.model), cnn.feeds, progress=False)
        metric = SensitivityMetric("sum", lambda s: float(s.run(None, cnn.feeds[0])[0].sum()))
        with pytest.raises(RuntimeError, match="calibrate first"):
            analyze_per_quantizer_sensitivity(QuantizationSimModel(cnn.model), metric)

    def test_modes(self, cnn, cnn_sim):
        before = {n: q.enabled for n, q in cnn_sim.qc_quantize_op_dict.items()}
        cumulative = bitsweep.sweep(cnn_sim, cnn.feeds, mode="cumulative", progress=False)
        all_but_one = bitsweep.sweep(cnn_sim, cnn.feeds, mode="disable_one", progress=False)
        assert {n: q.enabled for n, q in cnn_sim.qc_quantize_op_dict.items()} == before
        assert cumulative.mode == "cumulative"
        assert min(by_name(all_but_one).values()) < cumulative.scores[0].score
        with pytest.raises(ValueError, match="enable_one, disable_one, cumulative"):
            bitsweep.sweep(cnn_sim, cnn.feeds, mode="all")


class TestMetrics:
    def test_several_share_the_runs(self, cnn, cnn_sim):
        both = bitsweep.sweep(cnn_sim, cnn.feeds, metric=["mse", "kl"], progress=False)
        alone = bitsweep.sweep(cnn_sim, cnn.feeds, metric="kl", progress=False)
        assert [m.metric for m in both.more] == ["kl"]
        assert by_name(both.more[0]) == by_name(alone)
        assert both.num_runs == alone.num_runs

    def test_labels_give_accuracy_and_the_float_score(self, cnn, cnn_sim, float_of):
        session = float_of(cnn.model)
        labels = [session.run(None, f)[0].argmax(-1) for f in cnn.feeds]
        result = bitsweep.sweep(
            cnn_sim, cnn.feeds, metric=["accuracy", "perplexity"], labels=labels, progress=False
        )
        assert result.float_score == 1.0
        assert all(0.0 <= s.score <= 1.0 for s in result.scores)
        assert all(s.score >= 1.0 for s in result.more[0].scores)

    def test_bad_labels_get_a_sentence(self, cnn, cnn_sim):
        with pytest.raises(ValueError, match="labels, and there are none"):
            bitsweep.sweep(cnn_sim, cnn.feeds, metric="accuracy", progress=False)
        with pytest.raises(ValueError, match="fewer labels than samples"):
            bitsweep.sweep(cnn_sim, cnn.feeds, metric="accuracy", labels=[0], progress=False)
        with pytest.raises(ValueError, match="not integers"):
            bitsweep.sweep(cnn_sim, cnn.feeds, metric="accuracy", labels=[0.5] * 8, progress=False)


class TestInteractions:
    def test_gram_predicts_configurations(self, cnn, cnn_sim):
        result = bitsweep.sweep(cnn_sim, cnn.feeds, interactions=True, progress=False)
        gram = result.interactions.gram()
        n = len(result.interactions.groups)
        assert gram.shape == (n, n)
        np.testing.assert_array_equal(gram, gram.T)
        assert np.linalg.eigvalsh(gram).min() > -1e-9 * np.trace(gram)
        first = result.scores[0]
        assert result.predict([first.name]) == pytest.approx(first.score, abs=1e-6)
        assert result.predict([s.name for s in result.scores]) < first.score + 3.1
        pairs = result.interactions.strongest_pairs(3)
        assert len(pairs) == 3
        assert all(-1.0 <= p.interaction <= 1.0 for p in pairs)

    def test_without_them_prediction_says_how(self, cnn, cnn_sim):
        result = bitsweep.sweep(cnn_sim, cnn.feeds, progress=False)
        with pytest.raises(RuntimeError, match="interactions=True"):
            result.predict([])


class TestUntilStable:
    def test_finds_the_same_top(self, cnn, calibrate):
        sim = calibrate(cnn, param_type="int4")
        feeds = [{"x": f["x"] + np.float32(0.01 * i)} for i in range(12) for f in cnn.feeds]
        whole = bitsweep.sweep(sim, feeds, progress=False)
        part = bitsweep.sweep(sim, feeds, until="stable", top=0.2, progress=False)
        chosen = part.stability.selected
        assert set(chosen) == {s.name for s in whole.scores[: len(chosen)]}
        assert part.stability.num_evaluations < whole.num_evaluations
        assert {s.name for s in part.scores} == {s.name for s in whole.scores}


class TestRunDirectory:
    def test_second_call_continues_and_says_so(self, cnn, cnn_sim, tmp_path):
        first = bitsweep.sweep(cnn_sim, cnn.feeds, run_directory=tmp_path, progress=False)
        second = bitsweep.sweep(
            cnn_sim, cnn.feeds, run_directory=tmp_path, metric=["sqnr", "cosine"], progress=False
        )
        assert second.num_runs == 0
        assert second.num_kept == first.num_evaluations
        assert "continued" in second.notes[0]
        assert by_name(second) == by_name(first)

    def test_changed_model_is_never_served_from_it(self, cnn, cnn_sim, calibrate, tmp_path):
        bitsweep.sweep(cnn_sim, cnn.feeds, run_directory=tmp_path, progress=False)
        other = calibrate(cnn, param_type="int4")
        result = bitsweep.sweep(
            other, cnn.feeds, only="weights", run_directory=tmp_path, progress=False
        )
        assert result.num_kept == 0

    def test_full_disk_costs_the_journal_and_not_the_sweep(self, cnn, cnn_sim, tmp_path):
        resource = pytest.importorskip("resource")
        wanted = bitsweep.sweep(cnn_sim, cnn.feeds, progress=False)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (36_000, before[1]))
        try:
            result = bitsweep.sweep(cnn_sim, cnn.feeds, run_directory=tmp_path, progress=False)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)
        assert by_name(result) == by_name(wanted)
        assert any(
            "cannot be written" in note and "free some space" in note for note in result.notes
        )
        # With space again, what was kept is found and the rest is run.
        again = bitsweep.sweep(cnn_sim, cnn.feeds, run_directory=tmp_path, progress=False)
        assert 0 < again.num_kept < wanted.num_evaluations
        assert by_name(again) == by_name(wanted)

    def test_a_second_sweep_on_it_is_told(self, cnn, cnn_sim, tmp_path):
        refused = []

        def nested(progress):
            with pytest.raises(RuntimeError, match="in use by another sweep") as e:
                bitsweep.sweep(cnn_sim, cnn.feeds, run_directory=tmp_path, progress=False)
            refused.append(e)
            return True

        bitsweep.sweep(cnn_sim, cnn.feeds, run_directory=tmp_path, progress=nested)
        assert refused


class TestMetricThatFails:
    @pytest.fixture
    def failing(self, cnn_sim):
        """Fails for the quantizer "conv1.weight" in the way that the argument says."""

        def make(how):
            def eval_fn(session):
                if cnn_sim.qc_quantize_op_dict["conv1.weight"].enabled:
                    return how()
                return 1.0

            return SensitivityMetric("fails", eval_fn)

        return make

    @pytest.mark.parametrize(
        "how", [lambda: float("nan"), lambda: None, lambda: 1 / 0], ids=["NaN", "None", "raises"]
    )
    def test_that_quantizer_is_reported_and_the_sweep_goes_on(self, cnn_sim, failing, how):
        before = {n: q.enabled for n, q in cnn_sim.qc_quantize_op_dict.items()}
        with pytest.warns(UserWarning, match='"conv1.weight" has no score') as caught:
            scores = analyze_per_quantizer_sensitivity(cnn_sim, failing(how))
        assert len(caught) == 1
        enabled = {n for n, on in before.items() if on}
        assert set(scores) == enabled - {"conv1.weight"}
        assert {n: q.enabled for n, q in cnn_sim.qc_quantize_op_dict.items()} == before

    def test_that_never_works_is_raised_soon(self, cnn_sim):
        calls = []

        def eval_fn(session):
            calls.append(1)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            analyze_per_quantizer_sensitivity(cnn_sim, SensitivityMetric("fails", eval_fn))
        assert len(calls) == 3
