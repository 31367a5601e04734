"""Sensitivities that came out in another order from run to run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bitsweep
from bitsweep import _core
from models import Example, Graph, convolutions, normal
from sessions import calibrated

QUESTIONS = [
    {},
    {"mode": "disable_one"},
    {"mode": "cumulative"},
    {"group": "op"},
    {"metric": ["psnr", "kl", "top1"], "only": "weights"},
    {"interactions": True},
    {"until": "stable", "top": 0.2},
    {"reuse": False},
]


# G33
@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_results_are_the_same_bytes_in_every_run_with_any_number_of_threads(question):
    example = convolutions(6)
    texts = set()
    for num_threads in (1, 4, 8):
        result = bitsweep.sweep(
            calibrated(example),
            example.feeds,
            num_threads=num_threads,
            progress=False,
            **question,
        )
        texts.add(_core.sweep_to_json(result, []))
    assert len(texts) == 1


# G33
def test_a_search_on_them_chooses_the_same(tmp_path):
    example = convolutions(6)
    chosen = set()
    for num_threads in (1, 4, 8):
        result = bitsweep.mix(
            calibrated(example),
            example.feeds,
            ["W4A8", "W8A8", "W8A16"],
            "bops<=0.7",
            num_threads=num_threads,
            frontier_points=0,
        )
        chosen.add((str([str(c) for c in result.chosen.by_group]), result.chosen.measured_db))
    assert len(chosen) == 1


def twins() -> Example:
    """Eight equal branches that are summed: their quantizers score the same."""
    g = Graph(23)
    weight = g.weight("weight", 4, 4, 3, 3)
    branches = []
    for i in range(8):
        branch = g.op("Conv", ["x", weight], f"branch{i}", pads=[1, 1, 1, 1])
        branches.append(g.op("Relu", [branch], f"relu{i}"))
    y = g.op("Sum", branches, "sum")
    feeds = [{"x": normal(np.random.default_rng(i), 1, 4, 8, 8)} for i in range(3)]
    return Example("twins", g.model({"x": (1, 4, 8, 8)}, {"y": y}), feeds)


@pytest.mark.parametrize("opaque", [False, True], ids=["engine", "own metric"])
def test_equal_scores_keep_the_order_of_the_network(opaque):
    example = twins()
    sim = calibrated(example)
    if opaque:
        metric = bitsweep.analysis.SensitivityMetric("one", lambda session: 1.0)
        names = list(bitsweep.analysis.analyze_per_quantizer_sensitivity(sim, metric))
        assert names == [n for n, q in sim.qc_quantize_op_dict.items() if q.enabled]
    else:
        result = bitsweep.sweep(sim, example.feeds, include="relu*", progress=False)
        # Of one score to the last bit, or the ranking is by score.
        scores = [s.score for s in result.scores]
        assert scores == sorted(scores)
        for first, second in zip(result.scores, result.scores[1:], strict=False):
            assert first.score < second.score or first.name < second.name


FRESH = """
import bitsweep
from bitsweep import _core
from test_sens import twins
from sessions import calibrated

example = twins()
print(_core.sweep_to_json(bitsweep.sweep(calibrated(example), example.feeds, progress=False), []))
metric = bitsweep.analysis.SensitivityMetric(
    "sum", lambda session: float(sum(session.run(None, f)[0].sum() for f in example.feeds))
)
print(list(bitsweep.analysis.analyze_per_quantizer_sensitivity(calibrated(example), metric).items()))
"""


# Order of hashes differs between processes.
def test_another_process_gives_the_same_bytes():
    path = [p for p in sys.path if p]
    path.append(str(Path(__file__).parent))
    texts = {
        subprocess.run(
            [sys.executable, "-c", FRESH],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path), "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
