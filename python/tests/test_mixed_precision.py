"""choose_mixed_precision: what scripts of the peer rely on, and what is better here."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bitsweep.amp.mixed_precision_algo import EvalCallbackFactory
from bitsweep.common.amp.utils import AMPSearchAlgo
from bitsweep.common.defs import CallbackFunc, QuantizationDataType
from bitsweep.mixed_precision import (
    analyze_mixed_precision_sensitivity,
    apply_amp,
    choose_mixed_precision,
    w8a8,
    w16a16,
)
from bitsweep.utils import make_psnr_eval_fn

INT = QuantizationDataType.int
W16A16 = ((16, INT), (16, INT))
W8A8 = ((8, INT), (8, INT))


class Case:
    """An example with its evaluation functions."""

    def __init__(self, example, sim, float_session):
        self.model, self.sim, self.feeds = example.model, sim, example.feeds
        self.reference = [float_session.run(None, f) for f in self.feeds]
        self.calls = 0

    def score(self, session, *_):
        self.calls += 1
        signal = sum(
            float(np.sum(np.square(o, dtype=np.float64))) for r in self.reference for o in r
        )
        noise = sum(
            float(np.sum(np.square(np.float64(o) - q)))
            for f, r in zip(self.feeds, self.reference, strict=True)
            for o, q in zip(r, session.run(None, f), strict=True)
        )
        return 10 * float(np.log10(signal / (noise + 1e-10 * signal)))

    def calibrate(self, session, *_):
        for feed in self.feeds:
            session.run(None, feed)

    def choose(self, folder, drop, **changes):
        arguments = {
            "candidates": [W16A16, W8A8],
            "eval_callback_for_phase1": self.score,
            "eval_callback_for_phase2": CallbackFunc(self.score),
            "allowed_accuracy_drop": drop,
            "results_dir": folder,
            "clean_start": True,
            "forward_pass_callback": self.calibrate,
        }
        return choose_mixed_precision(self.sim, **(arguments | changes))

    def state(self):
        return {
            n: (q.enabled, str(q.precision()), str(q.encodings))
            for n, q in self.sim.qc_quantize_op_dict.items()
        }


@pytest.fixture
def case(cnn, cnn_sim, float_of):
    return Case(cnn, cnn_sim, float_of(cnn.model))


def test_none_as_the_drop_gives_the_whole_curve(case, tmp_path):
    points = case.choose(tmp_path, None)
    entries = json.loads((tmp_path / ".cache" / "accuracy_list.json").read_text())
    assert len(points) == len(entries)
    # Weights whose input is in another group keep the activation bits of the start in this count.
    assert 0.25 <= points[-1].relative_bit_ops < 0.5
    assert all(q.bitwidth == 8 for q in case.sim.qc_quantize_op_dict.values() if q.enabled)


@pytest.mark.parametrize("search", list(AMPSearchAlgo))
def test_result_stays_within_the_allowed_drop(case, tmp_path, search):
    points = case.choose(tmp_path, 45.0, amp_search_algo=search)
    info = dict(json.loads((tmp_path / "amp_info_list.json").read_text()))
    assert points
    assert info["final score"] >= info["fp32 accuray"] - 45.0
    assert case.score(case.sim.session) == pytest.approx(info["final score"])
    widths = {q.bitwidth for q in case.sim.qc_quantize_op_dict.values() if q.enabled}
    assert widths == {8, 16}


def test_pages_and_lists_are_written(case, tmp_path):
    case.choose(tmp_path, None)
    names = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert {
        ".cache/accuracy_list.json",
        ".cache/pareto_list.json",
        "pareto_list.json",
        "amp_info_list.json",
        "quantizer_group_sensitivity.html",
        "pareto_curve.html",
    } <= names
    group, text, *_ = json.loads((tmp_path / ".cache" / "accuracy_list.json").read_text())[0]
    assert text == str(W8A8)
    assert group[0][0] in ("activation", "weight")


def test_early_ends_return_none(case, tmp_path):
    assert case.choose(tmp_path, 0.001) is None
    assert {q.bitwidth for q in case.sim.qc_quantize_op_dict.values() if q.enabled} == {16}
    assert case.choose(tmp_path, 300.0) is None
    assert {q.bitwidth for q in case.sim.qc_quantize_op_dict.values() if q.enabled} == {8}


@pytest.mark.parametrize("phase", ["eval_callback_for_phase1", "eval_callback_for_phase2"])
def test_state_is_as_before_when_a_callback_raises(case, tmp_path, phase):
    before = case.state()
    calls = []

    def fails(session):
        calls.append(1)
        if len(calls) == 3:
            raise KeyError("mine")
        return case.score(session)

    with pytest.raises(KeyError, match="mine"):
        case.choose(tmp_path, None, **{phase: fails})
    assert case.state() == before


def test_second_search_uses_the_cache_of_the_same_question_only(case, tmp_path):
    first = case.choose(tmp_path, None)

    def refuses(session):
        raise AssertionError("phase 1 is known")

    again = case.choose(tmp_path, None, clean_start=False, eval_callback_for_phase1=refuses)
    assert again == first
    with pytest.raises(AssertionError, match="is known"):
        case.choose(tmp_path, None, eval_callback_for_phase1=refuses)
    case.choose(tmp_path, None)

    case.feeds = [{k: v * 3 for k, v in f.items()} for f in case.feeds]
    case.reference = [[o * 1.0 for o in case.sim.native.run_float(f)] for f in case.feeds]
    with pytest.raises(AssertionError, match="is known"):
        case.choose(tmp_path, None, clean_start=False, eval_callback_for_phase1=refuses)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"candidates": []}, "no candidate"),
        ({"candidates": [((8, "int"), (8, "int"))]}, "is no candidate"),
        ({"amp_search_algo": "Binary"}, "amp_search_algo"),
        ({"eval_callback_for_phase2": lambda s: None}, "NoneType"),
        ({"eval_callback_for_phase2": lambda s: "high"}, "returned a str; return a number"),
        (
            {"eval_callback_for_phase1": lambda s: [1, 2], "allowed_accuracy_drop": None},
            "eval_callback_for_phase1 returned a list",
        ),
        ({"allowed_accuracy_drop": float("nan")}, "allowed_accuracy_drop is nan"),
        ({"allowed_accuracy_drop": "little"}, "allowed_accuracy_drop is 'little'"),
        ({"eval_callback_for_phase2": lambda s: float("nan")}, "NaN"),
        ({"forward_pass_callback": None}, "cannot be called"),
    ],
)
def test_wrong_arguments_get_one_sentence(case, tmp_path, changes, words):
    before = case.state()
    with pytest.raises(ValueError, match=words):
        case.choose(tmp_path, 10.0, **changes)
    assert case.state() == before


def test_a_search_that_was_stopped_continues(case, tmp_path):
    calls = []

    def fails(session):
        calls.append(1)
        if len(calls) == 6:
            raise KeyError("mine")
        return case.score(session)

    with pytest.raises(KeyError, match="mine"):
        case.choose(tmp_path, None, eval_callback_for_phase2=fails)

    def refuses(session):
        raise AssertionError("phase 1 is known")

    phase2 = []

    def counts(session):
        phase2.append(1)
        return case.score(session)

    points = case.choose(
        tmp_path,
        None,
        clean_start=False,
        eval_callback_for_phase1=refuses,
        eval_callback_for_phase2=counts,
    )
    # Float, two candidates, the last check: all but the two points that were known.
    assert len(phase2) == 4 + len(points) - 2


def test_damaged_caches_are_left_aside_with_a_warning(case, tmp_path):
    first = case.choose(tmp_path, None)
    for damage in ("{", "[[1]]", '[[[["activation", "nobody"]], "x", 1.0, 0]]'):
        (tmp_path / ".cache" / "accuracy_list.json").write_text(damage)
        with pytest.warns(UserWarning, match="is damaged"):
            again = case.choose(tmp_path, None, clean_start=False)
        assert again == first


def test_a_folder_that_cannot_be_made_is_named(case, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "results", "/proc/results"):
        with pytest.raises(OSError, match="cannot be written"):
            case.choose(folder, 10.0)
    assert case.calls == 0


def test_a_folder_that_may_only_be_read_is_named(case, tmp_path, not_root):
    folder = tmp_path / "results"
    folder.mkdir(mode=0o555)
    with not_root(), pytest.raises(OSError, match="cannot be written"):
        case.choose(folder, 10.0)


def test_sqnr_callback_compares_with_the_float_model(case):
    name = case.sim.session.get_inputs()[0].name
    factory = EvalCallbackFactory([f[name] for f in case.feeds])
    sqnr = factory.sqnr(case.sim)(case.sim.session)
    assert 10.0 < sqnr < 100.0
    for quantizer in case.sim.qc_quantize_op_dict.values():
        quantizer.enabled = False
    assert factory.sqnr(case.sim, 1)(case.sim.session) > 100.0


def test_sqnr_callback_refuses_other_sessions_and_outputs(case):
    factory = EvalCallbackFactory(case.feeds, lambda s, f: s.run(None, f))
    with pytest.raises(ValueError, match="session"):
        factory.sqnr(case.sim)(object())
    with pytest.raises(RuntimeError, match="ndarray"):
        factory.sqnr(case.sim)(case.sim.session)


class TestTwoSteps:
    PRECISIONS = (w8a8, w16a16)

    def analyze(self, case, **changes):
        return analyze_mixed_precision_sensitivity(
            case.sim, list(self.PRECISIONS), changes.get("score", case.score), case.feeds
        )

    def test_analysis_scores_every_tensor_of_a_group_alike_and_keeps_encodings(self, case):
        result = self.analyze(case)
        assert list(result) == ["int8,int8", "int16,int16"]
        enabled = {n for n, q in case.sim.qc_quantize_op_dict.items() if q.enabled}
        for scores, encodings in result.values():
            assert set(scores) == enabled == set(encodings)
        name = case.sim.param_names[0]
        assert result["int16,int16"][0][name] > result["int8,int8"][0][name]
        assert all(q.bitwidth == 16 for q in case.sim.qc_quantize_op_dict.values() if q.enabled)

    def test_choice_takes_the_lowest_precision_that_is_accepted(self, case):
        result = json.loads(json.dumps(self.analyze(case)))  # can be kept as a file
        apply_amp(case.sim, result, lambda session: case.score(session) > 45.0)
        bits = {q.bitwidth for q in case.sim.qc_quantize_op_dict.values() if q.enabled}
        assert bits == {8, 16}
        assert case.score(case.sim.session) > 45.0
        apply_amp(case.sim, result, lambda session: True)
        assert all(q.bitwidth == 8 for q in case.sim.qc_quantize_op_dict.values() if q.enabled)

    def test_float_model_must_be_accepted(self, case):
        result = self.analyze(case)
        before = case.state()
        with pytest.raises(ValueError, match="float model"):
            apply_amp(case.sim, result, lambda session: False)
        assert case.state() == before

    def test_results_of_another_model_are_refused(self, case):
        result = self.analyze(case)
        scores, _ = result["int8,int8"]
        del scores[case.sim.activation_names[0]]
        with pytest.raises(ValueError, match=case.sim.activation_names[0]):
            apply_amp(case.sim, result, lambda session: case.score(session) > 45.0)

    def test_function_that_raises_leaves_the_quantizers_as_they_were(self, case):
        before = case.state()

        def fail(session):
            raise KeyError("mine")

        with pytest.raises(KeyError):
            self.analyze(case, score=fail)
        assert case.state() == before


def test_metrics_that_the_engine_knows_give_the_scores_of_the_session(case, float_of, tmp_path):
    psnr = make_psnr_eval_fn(float_of(case.model), case.feeds)
    lists = []
    for function in (psnr, lambda session: psnr(session)):
        case.choose(tmp_path, None, eval_callback_for_phase1=function)
        lists.append(json.loads((tmp_path / ".cache" / "accuracy_list.json").read_text()))
    native, plain = ({json.dumps(e[:2]): e[2] for e in entries} for entries in lists)
    assert native.keys() == plain.keys()
    # 16-bit scores lie near the rounding of float32.
    assert all(abs(native[k] - plain[k]) < 0.5 for k in native)
