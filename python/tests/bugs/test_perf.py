"""Sweeps and calibrations that took all memory, or a time that nobody knew."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import bitsweep
from bitsweep.analysis import SensitivityMetric, analyze_per_quantizer_sensitivity
from models import convolutions
from sessions import calibrated

# In a process of its own, because a peak never falls. Keeping every activation would take 450 MB more.
PEAKS = """
import resource, sys, tempfile
import numpy as np
import bitsweep
from models import Graph, normal

g, x = Graph(22), "x"
for i in range(40):
    x = g.op("Relu", [x], f"relu{i}")
model = g.model({"x": (1, 64, 28, 28)}, {"y": x})
feed = {"x": normal(np.random.default_rng(0), 1, 64, 28, 28)}
sim = bitsweep.QuantizationSimModel(model, quant_scheme=sys.argv[1])
options = eval(sys.argv[2])
kept = options.pop("kept", False)
for count in (8, 64):
    sim.compute_encodings(feed for _ in range(count))
    with tempfile.TemporaryDirectory() as folder:
        options["run_directory"] = folder if kept else None
        samples = [feed] * count if "until" in options else (dict(feed) for _ in range(count))
        bitsweep.sweep(sim, samples, include="relu*0.out", progress=False, **options)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peaks(script: str, *arguments: str) -> list[int]:
    run = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    return [int(line) for line in run.stdout.split()]


# G46
@pytest.mark.parametrize("scheme", ["min_max", "tf_enhanced", "percentile"])
def test_peak_memory_does_not_grow_with_the_number_of_samples(scheme):
    few, many = peaks(PEAKS, scheme, "{}")
    assert many < 1.1 * few


@pytest.mark.parametrize(
    "options",
    [
        {"interactions": True},
        {"until": "stable"},
        {"kept": True, "max_kept_bytes": 10_000_000},
    ],
    ids=str,
)
def test_nor_for_other_questions(options):
    few, many = peaks(PEAKS, "min_max", repr(options))
    assert many < 1.1 * few


# Samples from a file, whose memory is taken and given back for each, with an answer kept for each.
FILES = """
import resource, sys, tempfile
from pathlib import Path
import numpy as np
import onnx
import bitsweep
from models import Graph

g = Graph(24)
y = g.op("Flatten", [g.op("GlobalAveragePool", [g.op("Relu", ["x"], "relu")], "pool")], "y")
model = g.model({"x": (1, 3, 224, 224)}, {"y": y})
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder)
    rows = np.arange(200, dtype=np.float32).reshape(-1, 1, 1, 1)
    np.savez_compressed(path / "x.npz", x=np.broadcast_to(rows, (200, 3, 224, 224)))
    onnx.save(model, path / "model.onnx")
    sim = bitsweep.QuantizationSimModel(model)
    samples = bitsweep.open_samples(path / "x.npz", path / "model.onnx", max_samples=8)
    sim.compute_encodings(samples)
    for count in (8, 200):
        samples = bitsweep.open_samples(path / "x.npz", path / "model.onnx", max_samples=count)
        bitsweep.sweep(sim, samples, run_directory=path / str(count), progress=False)
        anonymous = next(
            line.split()[1]
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("RssAnon")
        )
        print(anonymous)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_samples_of_a_file_give_their_memory_back():
    few, many = peaks(FILES)
    assert many < 1.1 * few


# Sessions that observe hold the quantized weights: 40 MB here.
OBSERVED = """
import ctypes
from pathlib import Path
import numpy as np
import bitsweep
from models import Graph

def anonymous():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("RssAnon"))

g, x = Graph(), "x"
for i in range(40):
    x = g.linear(x, 512, 512, f"linear{i}")
sim = bitsweep.QuantizationSimModel(g.model({"x": (1, 512)}, {"y": x}))
sim.compute_encodings([{"x": np.ones((1, 512), np.float32)}])
print(anonymous())
ctypes.CDLL(None).malloc_trim(0)
print(anonymous())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, calls glibc")
def test_a_calibration_gives_the_memory_of_its_sessions_back():
    left, least = peaks(OBSERVED)
    assert left < 1.1 * least


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


# G47
def test_a_metric_of_the_users_own_moves_and_shares_what_lies_in_front():
    example = convolutions(30)
    sim = calibrated(example)
    seen, calls = [], []

    def total(session):
        calls.append(1)
        return float(sum(session.run(None, feed)[0].sum() for feed in example.feeds))

    scores = analyze_per_quantizer_sensitivity(
        sim,
        SensitivityMetric("sum", total),
        progress=lambda p: seen.append((p.done, p.total, p.remaining_s)) and None,
    )
    assert [done for done, _, _ in seen] == list(range(1, len(scores) + 1))
    assert {total for _, total, _ in seen} == {len(scores)}
    assert all(remaining >= 0.0 for _, _, remaining in seen)
    assert len(calls) == len(scores)
