"""bitsweep.mix: bit-widths for a budget, chosen and proven."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import bitsweep
import models

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
    assert len(result.chosen.costs) == len(bitsweep.mix_costs())


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
