"""Situations in which sweeps and calibrations of other tools were reported to fail."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import onnx
import pytest

import bitsweep
from bitsweep import _core
from models import Example, Graph, normal
from sessions import calibrated


def convolutions(count: int, weight_shift: float = 0.0, sample_shift: float = 0.0) -> Example:
    """Conv and Relu, again and again; optionally with one weight or one sample changed."""
    g = Graph(21)
    x, channels = "x", 3
    for i in range(count):
        x = g.op("Relu", [g.conv(x, channels, 8, f"conv{i}")], f"relu{i}")
        channels = 8
    y = g.op("Flatten", [g.op("GlobalAveragePool", [x], "gap")], "flatten", axis=1)
    model = g.model({"x": (1, 3, 12, 12)}, {"y": y})
    weight = next(t for t in model.graph.initializer if t.name == "conv1.weight")
    values = onnx.numpy_helper.to_array(weight).copy()
    values.flat[0] += weight_shift
    weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    feeds = [{"x": normal(np.random.default_rng(i), 1, 3, 12, 12)} for i in range(3)]
    feeds[2]["x"].flat[0] += sample_shift
    return Example("convolutions", model, feeds)


# G33
def test_results_are_the_same_bytes_in_every_run_with_any_number_of_threads():
    example = convolutions(6)
    texts = set()
    for num_threads in (1, 4, 8):
        result = bitsweep.sweep(
            calibrated(example), example.feeds, num_threads=num_threads, progress=False
        )
        texts.add(_core.sweep_to_json(result, []))
    assert len(texts) == 1


# G38
@pytest.mark.parametrize(
    "change",
    [{}, {"param_type": "int4"}, {"sample_shift": 0.5}, {"weight_shift": 0.5}, {"truncate": True}],
    ids=str,
)
def test_a_changed_question_on_one_run_directory_gets_the_answer_of_a_cold_run(change, tmp_path):
    example = convolutions(6)
    bitsweep.sweep(calibrated(example), example.feeds, run_directory=tmp_path, progress=False)
    change = dict(change)
    truncate = change.pop("truncate", False)
    settings = {k: v for k, v in change.items() if k == "param_type"}
    other = convolutions(6, **{k: v for k, v in change.items() if k not in settings})
    if truncate:
        journal = tmp_path / "journal.sqlite"
        journal.write_bytes(journal.read_bytes()[: journal.stat().st_size // 2])
    warm, cold = (
        bitsweep.sweep(
            calibrated(other, **settings), other.feeds, run_directory=folder, progress=False
        )
        for folder in (tmp_path, None)
    )
    assert _core.sweep_to_json(warm, []) == _core.sweep_to_json(cold, [])
    assert (warm.num_evaluations == 0) == (not change and not truncate)
    assert any("damaged" in note for note in warm.notes) == truncate


# In a process of its own, because a peak never falls. Keeping every activation would take 450 MB more.
PEAKS = """
import resource, sys
import numpy as np
import bitsweep
from models import Graph, normal

g, x = Graph(22), "x"
for i in range(40):
    x = g.op("Relu", [x], f"relu{i}")
model = g.model({"x": (1, 64, 28, 28)}, {"y": x})
feed = {"x": normal(np.random.default_rng(0), 1, 64, 28, 28)}
sim = bitsweep.QuantizationSimModel(model, quant_scheme=sys.argv[1])
for count in (8, 64):
    sim.compute_encodings(feed for _ in range(count))
    bitsweep.sweep(sim, (dict(feed) for _ in range(count)), include="relu*0.out", progress=False)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


# G46
@pytest.mark.parametrize("scheme", ["min_max", "tf_enhanced", "percentile"])
def test_peak_memory_does_not_grow_with_the_number_of_samples(scheme):
    run = subprocess.run(
        [sys.executable, "-c", PEAKS, scheme],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    few, many = map(int, run.stdout.split())
    assert many < 1.1 * few


# G47
def test_work_is_known_up_front_and_falls_with_depth():
    example = convolutions(30)
    sim = calibrated(example)
    feeds = example.feeds * 4
    seen = []
    result = bitsweep.sweep(sim, feeds, progress=lambda p: seen.append((p.done, p.total)) and None)
    total = len(result.scores) * len(feeds)
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    # On a chain a change is followed by half of the network on average.
    assert result.forward_equivalents < len(result.scores) / 1.7
    last = bitsweep.sweep(sim, feeds, include="conv29*", progress=False)
    first = bitsweep.sweep(sim, feeds, include="conv0*", progress=False)
    per_score = [r.forward_equivalents / len(r.scores) for r in (first, last)]
    assert per_score[1] < per_score[0]
