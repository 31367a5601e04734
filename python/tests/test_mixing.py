"""bitsweep.mix: bit-widths for a budget, chosen and proven."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import bitsweep
import models
from situations import build, node, normal

CANDIDATES = ["W8A8", "W8A16", "W4A8"]


def sqnr(sim, feeds):
    signal = noise = 0.0
    for feed in feeds:
        for exact, rounded in zip(
            sim.session.run_float(None, feed), sim.session.run(None, feed), strict=True
        ):
            signal += float(np.sum(np.float64(exact) ** 2))
            noise += float(np.sum((np.float64(exact) - rounded) ** 2))
    return 10 * np.log10(signal / noise)


@pytest.fixture
def sim(cnn):
    return bitsweep.QuantizationSimModel(cnn.model)


def test_budget_is_met_and_the_result_is_what_the_simulation_gives(sim, cnn):
    result = bitsweep.mix(sim, cnn.feeds, CANDIDATES, "bops<=0.6", frontier_points=4)
    assert result.infeasible == ""
    assert result.chosen.costs[0] <= 0.6 * (1 + 1e-8)
    assert sqnr(sim, cnn.feeds) == pytest.approx(result.chosen.measured_db, abs=1e-6)
    costs = [p.costs[0] for p in result.frontier]
    assert costs == sorted(costs)
    assert [name for name, _ in bitsweep.mix_costs()][:3] == ["bops", "gbops", "bytes"]
    # The latency needs a table.
    assert len(result.chosen.costs) == len(bitsweep.mix_costs()) - 1


def test_quality_with_two_limits_and_kinds_of_candidates(sim, cnn):
    result = bitsweep.mix(
        sim,
        cnn.feeds,
        [("int8", "int8"), (bitsweep.int8, bitsweep.int16)],
        ["sqnr>=20", "share16<=0.9"],
        frontier_points=0,
    )
    assert result.chosen.measured_db >= 20
    assert result.chosen.costs[3] <= 0.9


def test_impossible_budget_says_the_minimum_and_changes_nothing(sim, cnn):
    before = {n: str(q.precision()) for n, q in sim.qc_quantize_op_dict.items()}
    result = bitsweep.mix(sim, cnn.feeds, ["W8A8"], "bytes<=1B", frontier_points=0)
    assert result.chosen is None
    assert "the minimum of bytes is" in result.infeasible
    assert {n: str(q.precision()) for n, q in sim.qc_quantize_op_dict.items()} == before


def test_policy_and_exported_model_agree_with_the_choice(sim, cnn, tmp_path):
    result = bitsweep.mix(sim, cnn.feeds, CANDIDATES, "bops<=0.6", frontier_points=0)
    bitsweep.save_policy(sim, result, tmp_path / "policy.json")
    fresh = bitsweep.QuantizationSimModel(cnn.model)
    bitsweep.apply_policy(fresh, tmp_path / "policy.json")
    for name, quantizer in sim.qc_quantize_op_dict.items():
        assert fresh.qc_quantize_op_dict[name].bitwidth == quantizer.bitwidth
    onnx.save(sim.to_onnx_qdq(), tmp_path / "model.onnx")
    session = ort.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    for feed in cnn.feeds:
        for exported, simulated in zip(
            session.run(None, feed), sim.session.run(None, feed), strict=True
        ):
            step = np.abs(simulated).max() / 100
            np.testing.assert_allclose(exported, simulated, atol=step)


def test_the_plot_holds_curve_choice_and_types(sim, cnn, tmp_path):
    result = bitsweep.mix(sim, cnn.feeds, CANDIDATES, "bops<=0.6", frontier_points=3)
    page = tmp_path / "frontier.html"
    bitsweep.save_mix_plot(sim, result, page, cost="bytes", targets="bops<=0.6")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])
    assert len(data["groups"]) == len(result.groups)
    chosen = data["points"][data["chosen"]]
    assert chosen["cost"] == result.chosen.costs[2]
    assert chosen["quality"] == result.chosen.measured_db
    assert data["facts"][0] == ["target", "bops \u2264 0.6"]
    with pytest.raises(bitsweep.Error, match=r"no cost is named \"dollars\"; use one of: bops"):
        bitsweep.save_mix_plot(sim, result, page, cost="dollars")


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", '{"kind": "bitsweep mix policy", "version": 9}']
)
def test_stale_or_foreign_policies_are_refused(sim, tmp_path, text):
    (tmp_path / "policy.json").write_text(text)
    with pytest.raises(bitsweep.Error, match="policy"):
        bitsweep.apply_policy(sim, tmp_path / "policy.json")


def test_policy_of_another_model_is_refused(sim, cnn, tmp_path):
    result = bitsweep.mix(sim, cnn.feeds, CANDIDATES, "bops<=0.6", frontier_points=0)
    bitsweep.save_policy(sim, result, tmp_path / "policy.json")
    assert json.loads((tmp_path / "policy.json").read_text())["groups"]
    with pytest.raises(bitsweep.Error, match="another model"):
        bitsweep.apply_policy(
            bitsweep.QuantizationSimModel(models.depthwise().model), tmp_path / "policy.json"
        )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"candidates": ["W8A8", "W8A8"]}, "twice"),
        ({"candidates": []}, "candidate"),
        ({"candidates": ["8x8"]}, "W8A16"),
        ({"targets": "bops>=0.5"}, "limited"),
        ({"targets": "speed<=2"}, "speed"),
        ({"targets": "bops<=0.6", "cost": "euros"}, "euros"),
        ({"pinned": {"nothing": "W8A8"}}, "nothing"),
        ({"same_format": [["nothing", "image"]]}, "nothing"),
        ({"samples": []}, "sample"),
    ],
)
def test_bad_input_is_named(sim, cnn, changes, words):
    arguments = {"samples": cnn.feeds, "candidates": CANDIDATES, "targets": "bops<=0.6"}
    with pytest.raises(ValueError, match=words):
        bitsweep.mix(sim, **(arguments | changes))


def test_run_directory_answers_what_is_known(cnn, tmp_path):
    results = []
    for target in ("bops<=0.6", "bops<=0.6", "bops<=0.5"):
        sim = bitsweep.QuantizationSimModel(cnn.model)
        results.append(
            bitsweep.mix(
                sim, cnn.feeds, CANDIDATES, target, frontier_points=0, run_directory=tmp_path
            )
        )
    first, same, other = results
    assert first.num_kept == 0
    assert same.num_run == 0
    assert same.chosen.measured_db == first.chosen.measured_db
    assert other.num_kept > 0
    assert other.num_run < first.num_run / 2


def test_every_configuration_of_the_frontier_runs_exported_as_simulated(sim, cnn, tmp_path):
    result = bitsweep.mix(sim, cnn.feeds, CANDIDATES, frontier_points=6)
    assert len(result.frontier) >= 3
    for i, point in enumerate(result.frontier):
        fresh = bitsweep.QuantizationSimModel(cnn.model)
        for group, candidate in zip(result.groups, point.by_group, strict=True):
            for name in [*group.activations, *group.parameters]:
                weight = name in group.parameters
                kind = candidate.parameter if weight else candidate.activation
                fresh.qc_quantize_op_dict[name].set_bitwidth(kind.bitwidth)
        fresh.compute_encodings(cnn.feeds)
        path = tmp_path / f"{i}.onnx"
        onnx.save(fresh.to_onnx_qdq(), path)
        assert fresh.verify(path, cnn.feeds, latency_runs=0).passed


def test_predictions_are_those_that_the_search_uses_and_follow_what_was_measured(sim, cnn):
    types = [bitsweep._core.Candidate(bitsweep._core.Format.integer(a), bitsweep._core.Format.integer(8)) for a in (16, 8)]  # fmt: skip
    mix = bitsweep._core.mix_problem(sim.native, cnn.feeds, cnn.feeds, types)
    dear = [0] * len(mix.groups)
    cheap = [len(choices) - 1 for choices in mix.choices]
    alone = [mix.losses([[*dear[:g], cheap[g], *dear[g + 1 :]]], additive=True)[0] for g in range(len(dear))]  # fmt: skip
    of_dear, of_cheap = mix.losses([dear, cheap], additive=True)
    assert of_cheap - of_dear == pytest.approx(sum(alone) - len(dear) * of_dear)
    assert mix.costs([dear])[0][0] == pytest.approx(1.0)
    assert mix.costs([cheap])[0][0] < 0.9
    measured_db = -10 * np.log10(4 * of_cheap)
    corrected = mix.corrected([cheap], [measured_db], [[measured_db] * 3])
    assert of_cheap < corrected.losses([cheap])[0] <= 4 * of_cheap * (1 + 1e-9)


def front(*level: Any) -> tuple[onnx.ModelProto, list[dict[str, np.ndarray]]]:
    """A level of squares down to 1e-7: no grid of 16 bits holds them."""
    model = build(
        [
            node("Mul", ["x", "x"], ["power"]),
            node(*level),
            node("MatMul", ["level", "w"], ["y"]),
        ],
        {"x": [1, 16]},
        {"w": normal(16, 8)} | ({"tenth": np.float32(0.1)} if "tenth" in level[1] else {}),
    )
    rng = np.random.default_rng(3)
    feeds = [{"x": np.float32(10.0 ** rng.uniform(-3.5, 0, (1, 16)))} for _ in range(6)]
    return model, feeds


@pytest.fixture
def root_front():
    return front("Pow", ["power", "tenth"], ["level"])


def test_a_group_that_no_candidate_holds_is_named_and_float_solves_it():
    model, feeds = front("Log", ["power"], ["level"])
    sim = bitsweep.QuantizationSimModel(model)
    # Small powers become zeros, and their logarithms infinite.
    with pytest.raises(bitsweep.Error, match="add the candidate float") as error:
        bitsweep.mix(sim, feeds, ["W8A8", "W16A16"], "sqnr>=30", frontier_points=0)
    assert 'group of "power"' in str(error.value)
    result = bitsweep.mix(sim, feeds, ["W8A8", "W16A16", "float"], "sqnr>=30", frontier_points=0)
    assert result.chosen.measured_db >= 30


def test_a_quality_out_of_reach_names_the_group_and_float_solves_it(root_front):
    model, feeds = root_front
    sim = bitsweep.QuantizationSimModel(model)
    result = bitsweep.mix(sim, feeds, ["W8A8", "W16A16"], "sqnr>=40", frontier_points=0)
    assert result.chosen is None
    assert 'the group of "power" loses most' in result.infeasible
    assert "add the candidate float" in result.infeasible

    result = bitsweep.mix(sim, feeds, ["W8A8", "W16A16", "float"], "sqnr>=40", frontier_points=0)
    assert result.chosen.measured_db >= 40
    assert sqnr(sim, feeds) == pytest.approx(result.chosen.measured_db, abs=1e-6)
    left = {
        name: candidate.activation.name
        for group, candidate in zip(result.groups, result.chosen.by_group, strict=True)
        for name in group.activations
    }
    assert left["power"] == "float32"
    assert "float32" not in left["level"]


def test_a_mix_with_float_groups_is_written_and_read_back(root_front, tmp_path):
    model, feeds = root_front
    sim = bitsweep.QuantizationSimModel(model)
    result = bitsweep.mix(sim, feeds, ["W8A8", "W16A16", "float"], "sqnr>=40", frontier_points=0)
    onnx.save(sim.to_onnx_qdq(), tmp_path / "model.onnx")
    options = ort.SessionOptions()  # integer kernels of some CPUs saturate
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        tmp_path / "model.onnx", options, providers=["CPUExecutionProvider"]
    )
    for feed in feeds:
        simulated = sim.session.run(None, feed)[0]
        step = np.abs(simulated).max() / 100
        np.testing.assert_allclose(session.run(None, feed)[0], simulated, atol=step)
    bitsweep.save_policy(sim, result, tmp_path / "policy.json")
    fresh = bitsweep.QuantizationSimModel(model)
    bitsweep.apply_policy(fresh, tmp_path / "policy.json")
    fresh.compute_encodings(feeds)
    assert sqnr(fresh, feeds) == pytest.approx(result.chosen.measured_db, abs=1)


def test_granularity_and_estimator_are_candidates_and_the_written_model_has_them(
    sim, cnn, tmp_path
):
    candidates = ["W8A8", "W4A8@per_tensor@mse", "W4A8@block4"]
    result = bitsweep.mix(sim, cnn.feeds, candidates, "bytes<=1MB", pinned=dict.fromkeys(
        (w for w in sim.param_names if w.endswith("weight")), "W8A8"), frontier_points=0)  # fmt: skip
    assert {c.granularity for c in result.chosen.by_group} == {None}
    result = bitsweep.mix(sim, cnn.feeds, candidates, "bops<=0.55", frontier_points=0)
    chosen = {(c.granularity, c.estimator) for c in result.chosen.by_group}
    assert chosen & {("per_tensor", "mse"), ("block4", None)}
    assert sqnr(sim, cnn.feeds) == pytest.approx(result.chosen.measured_db, abs=1e-6)
    bitsweep.save_policy(sim, result, tmp_path / "policy.json")
    fresh = bitsweep.QuantizationSimModel(cnn.model)
    bitsweep.apply_policy(fresh, tmp_path / "policy.json")
    for name, quantizer in sim.qc_quantize_op_dict.items():
        assert fresh.qc_quantize_op_dict[name].precision() == quantizer.precision(), name
    onnx.save(sim.to_onnx_qdq(), tmp_path / "model.onnx")
    assert sim.verify(tmp_path / "model.onnx", cnn.feeds, latency_runs=0).passed


def test_offering_float_does_not_change_what_a_share_of_bit_operations_means(sim, cnn):
    plain = bitsweep.mix(sim, cnn.feeds, ["W8A8"], "bops<=1", frontier_points=0)
    offered = bitsweep.mix(sim, cnn.feeds, ["W8A8", "float"], "bops<=1", frontier_points=0)
    assert plain.chosen.costs[0] == pytest.approx(1.0)
    assert offered.chosen.costs[0] <= 1 + 1e-8


def test_limits_that_are_to_blame_are_named(sim, cnn):
    result = bitsweep.mix(sim, cnn.feeds, CANDIDATES, ["sqnr>=25", "bops<=0.26"], frontier_points=0)
    assert result.chosen is None
    assert "within the limits" in result.infeasible


def test_own_metric_and_known_ones_check_the_choice_on_other_data(sim, cnn):
    def largest_output(session):
        return max(float(np.abs(session.run(None, f)[0]).max()) for f in cnn.feeds)

    result = bitsweep.mix(
        sim,
        cnn.feeds,
        CANDIDATES,
        "bops<=0.6",
        test=cnn.feeds,
        check=["mse", largest_output],
        frontier_points=0,
    )
    mse, largest = result.checks
    assert (mse.name, mse.float_score) == ("mse", None)
    assert mse.score > 0
    assert largest.name == "largest_output"
    assert largest.score == pytest.approx(largest_output(sim.session))
    exact = max(float(np.abs(sim.session.run_float(None, f)[0]).max()) for f in cnn.feeds)
    assert largest.float_score == pytest.approx(exact)


def test_accuracy_on_test_labels_is_told_for_both_models():
    model = build([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 16]}, {"w": normal(16, 8)})
    rng = np.random.default_rng(4)
    feeds = [{"x": rng.normal(size=(1, 16)).astype(np.float32)} for _ in range(8)]
    sim = bitsweep.QuantizationSimModel(model)
    labels = [sim.session.run_float(None, f)[0].argmax(-1) for f in feeds]
    labels[0] = (labels[0] + 1) % 8
    arguments = {"test": feeds, "check": "accuracy", "frontier_points": 0}
    result = bitsweep.mix(sim, feeds, ["W8A8"], "bops<=1", test_labels=labels, **arguments)
    assert result.checks[0].float_score == pytest.approx(7 / 8)
    assert 0 <= result.checks[0].score <= 1
    with pytest.raises(bitsweep.Error, match="the test samples have none"):
        bitsweep.mix(sim, feeds, ["W8A8"], "bops<=1", **arguments)
    with pytest.raises(bitsweep.Error, match="no check compares with the labels"):
        bitsweep.mix(sim, feeds, ["W8A8"], "bops<=1", test_labels=labels, test=feeds, check="mse")


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (lambda session: "high", ValueError, "returned a str; return a number"),
        (lambda session: None, RuntimeError, "returned a NoneType"),
        (lambda session: float("nan"), ValueError, "gave NaN"),
        (lambda session: {}["mine"], KeyError, "mine"),
    ],
)
def test_a_check_that_fails_leaves_the_simulation_and_keeps_what_was_measured(
    cnn, tmp_path, function, kind, words
):
    sim = bitsweep.QuantizationSimModel(cnn.model)
    sim.compute_encodings(cnn.feeds)
    before = {n: (str(q.precision()), str(q.encodings)) for n, q in sim.qc_quantize_op_dict.items()}
    arguments = {"frontier_points": 0, "run_directory": tmp_path}
    with pytest.raises(kind, match=words):
        bitsweep.mix(sim, cnn.feeds, CANDIDATES, "bops<=0.6", check=function, **arguments)
    after = {n: (str(q.precision()), str(q.encodings)) for n, q in sim.qc_quantize_op_dict.items()}
    assert after == before
    again = bitsweep.mix(sim, cnn.feeds, CANDIDATES, "bops<=0.6", **arguments)
    assert again.num_run == 0


def test_a_latency_table_is_a_cost(sim, cnn, tmp_path):
    table = tmp_path / "target.csv"
    rows = ["Conv,*,int8,int16,2", "Conv,*,int8,int8,1", "Conv,*,int4,*,0.75"]
    table.write_text("operator,shape,weights,activations,ms\n" + "\n".join(rows))
    result = bitsweep.mix(
        sim,
        cnn.feeds,
        CANDIDATES,
        "sqnr>=15",
        cost="latency",
        latency_table=table,
        frontier_points=0,
    )
    convolutions = sum(n.op_type == "Conv" for n in cnn.model.graph.node)
    assert [name for name, _ in bitsweep.mix_costs()][5] == "latency"
    assert 0.75 * convolutions <= result.chosen.costs[5] <= 2 * convolutions
    assert any("no rows for" in note for note in result.notes)
    with pytest.raises(bitsweep.Error, match="has no table"):
        bitsweep.mix(sim, cnn.feeds, CANDIDATES, "latency<=5", frontier_points=0)
    table.write_text("operator,shape,weights,activations,ms\nConv,*,int8,int16,2")
    with pytest.raises(bitsweep.Error, match="no row fits Conv"):
        bitsweep.mix(sim, cnn.feeds, CANDIDATES, "bops<=1", latency_table=table)


def test_a_killed_mix_continues(cnn, tmp_path):
    onnx.save(cnn.model, tmp_path / "model.onnx")
    (name,) = cnn.feeds[0]
    np.savez(tmp_path / "feeds.npz", **{str(i): f[name] for i, f in enumerate(cnn.feeds)})
    code = textwrap.dedent("""
        import sys, numpy as np, bitsweep
        arrays = np.load("feeds.npz")
        feeds = [{sys.argv[1]: arrays[n]} for n in sorted(arrays.files, key=int)]
        sim = bitsweep.QuantizationSimModel("model.onnx")
        bitsweep.mix(sim, feeds, ["W8A8", "W8A16", "W4A8"], run_directory="run", frontier_points=40)
    """)
    process = subprocess.Popen([sys.executable, "-c", code, name], cwd=tmp_path)
    journal = tmp_path / "run" / "journal.sqlite-wal"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 50_000):
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() in (0, -signal.SIGKILL)
    sim = bitsweep.QuantizationSimModel(cnn.model)
    arguments = {"frontier_points": 40}
    continued = bitsweep.mix(
        sim, cnn.feeds, CANDIDATES, run_directory=tmp_path / "run", **arguments
    )
    cold = bitsweep.mix(sim, cnn.feeds, CANDIDATES, **arguments)
    assert continued.num_kept > 0
    assert continued.num_run < cold.num_run
    assert [p.measured_db for p in continued.frontier] == [p.measured_db for p in cold.frontier]


def test_a_run_directory_that_cannot_be_written_is_named(sim, cnn, tmp_path, not_root):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        bitsweep.mix(sim, cnn.feeds, CANDIDATES, "bops<=1", run_directory=tmp_path / "file")
    folder = tmp_path / "run"
    folder.mkdir(mode=0o555)
    with not_root(), pytest.raises(OSError, match="run"):
        bitsweep.mix(sim, cnn.feeds, CANDIDATES, "bops<=1", run_directory=folder)
