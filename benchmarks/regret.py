"""How far the answers of both sides are from the true optimum, on networks small enough to try every configuration.

    regret.py --peer-python PYTHON [--networks 4]

Small random convolutional networks, up to 12 groups, two or three candidates. Every configuration is measured on the search
samples, by one judge for both sides; the optimum at a cost is the best of all that cost no more. The reference answers
with the best point of its whole curve (brute force), bitsweep with `mix` for the limit.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import numpy as np
import onnx
from amp_sides import (
    Judge,
    KeptRanges,
    Point,
    Reference,
    Widths,
    best_within,
    bits_of,
    group_bits,
    widths_of,
)
from bench_models import BenchModel
from onnx import TensorProto, helper, numpy_helper

import bitsweep
from bitsweep import _core

# Candidates, and the number of convolutions.
KINDS = {"three": (["W8A16", "W8A8", "W4A8"], 5), "two": (["W8A16", "W8A8"], 8)}
CHANNELS = (4, 8, 16)
SIZE = 12
CLASSES = 10
# Limits, as shares of the way from the cheapest to the dearest configuration.
BUDGETS = np.linspace(0.1, 0.9, 9)


def network(seed: int, num_convolutions: int) -> onnx.ModelProto:
    """Convolutions of different sizes, whose channels differ in size, too, and a classifier."""
    random = np.random.default_rng(seed)
    weights, nodes = {}, []
    x, inputs = "image", 3
    for i in range(num_convolutions):
        outputs = int(random.choice(CHANNELS))
        spread = np.exp(random.normal(0, 1, (outputs, 1, 1, 1)))
        weights[f"conv{i}.weight"] = (
            random.standard_normal((outputs, inputs, 3, 3)) * spread / np.sqrt(9 * inputs)
        )
        nodes.append(helper.make_node("Conv", [x, f"conv{i}.weight"], [f"c{i}"], pads=[1] * 4, name=f"conv{i}"))  # fmt: skip
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], name=f"relu{i}"))
        x, inputs = f"r{i}", outputs
    weights["head.weight"] = random.standard_normal((CLASSES, inputs, 1, 1)) / np.sqrt(inputs)
    nodes += [
        helper.make_node("GlobalAveragePool", [x], ["p"], name="pool"),
        helper.make_node("Conv", ["p", "head.weight"], ["scores"], name="head"),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, CLASSES, 1, 1])],
        [numpy_helper.from_array(w.astype(np.float32), n) for n, w in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def lay_out(seed: int, num_convolutions: int, folder: Path, samples: int) -> BenchModel:
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(network(seed, num_convolutions), folder / "model.onnx")
    random = np.random.default_rng(1000 + seed)
    for name in ("calib", "eval"):
        images = random.standard_normal((samples, 3, SIZE, SIZE)).astype(np.float32)
        np.savez(folder / f"{name}.npz", image=images)
    return BenchModel(folder.name, folder)


def every_configuration(judge: Judge, groups: list, widths: Widths) -> list[Point]:
    choices = []
    for group in groups:
        bits = [group_bits(group, w, a) for w, a in widths]
        choices.append([b for i, b in enumerate(bits) if b not in bits[:i]])
    return [
        judge.measure({k: v for bits in choice for k, v in bits.items()}, 0.0)
        for choice in itertools.product(*choices)
    ]


def compare(kind: str, seed: int, arguments: argparse.Namespace) -> dict[str, list[float]]:
    """Distances to the optimum in dB, by side."""
    candidates, num_convolutions = KINDS[kind]
    folder = arguments.answers / f"{kind}{seed}"
    model = lay_out(seed, num_convolutions, folder, arguments.samples)
    search = model.feeds("eval.npz")
    calibration = model.feeds("calib.npz")
    path = model.folder / "model.onnx"
    widths = widths_of(candidates)
    judge = KeptRanges(path, calibration, search, widths)
    groups = _core.quantizer_groups(judge.sim.native)
    points = every_configuration(judge, groups, widths)
    rows = list(range(arguments.samples))
    question = {
        "model": str(path),
        "search": str(folder / "eval.npz"),
        "search_rows": rows,
        "calibration": str(folder / "calib.npz"),
        "calibration_rows": rows,
        "candidates": widths,
    }
    peer = Reference(arguments.peer_python, arguments.answers, model.name, question).ask(None)
    theirs = judge.points_of_reference(peer, range(len(peer["changes"])))

    low, high = (f(p.cost for p in points) for f in (min, max))
    regrets: dict[str, list[float]] = {"reference": [], "bitsweep": []}
    for share in BUDGETS:
        limit = low + share * (high - low)
        best = max(p.db for p in points if p.cost <= limit * (1 + 1e-9))
        other = best_within(theirs, limit)
        result = bitsweep.mix(
            bitsweep.QuantizationSimModel(path), search, candidates, f"gbops<={limit}",
            calibration=calibration, frontier_points=0,
        )  # fmt: skip
        own = judge.measure(bits_of(result, result.chosen), 0.0)
        regrets["bitsweep"].append(best - own.db)
        if other is not None:  # the reference's curve may not come down so far
            regrets["reference"].append(best - other.db)
    print(f"{model.name}: {len(groups)} groups, {len(points)} configurations; mean distance to the optimum: "
          + ", ".join(f"{side} {np.mean(r):.3f} dB ({len(r)} limits)" for side, r in regrets.items()),
          flush=True)  # fmt: skip
    return regrets


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--networks", type=int, default=4, help="of each kind")
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--answers", type=Path, default=Path("build/regret"))
    arguments = parser.parse_args()
    everything: dict[str, list[float]] = {"reference": [], "bitsweep": []}
    for kind in KINDS:
        for seed in range(arguments.networks):
            for side, found in compare(kind, seed, arguments).items():
                everything[side] += found
    mean = {side: float(np.mean(r)) for side, r in everything.items()}
    print(f"all: reference {mean['reference']:.3f} dB, bitsweep {mean['bitsweep']:.3f} dB,"
          f" share {mean['bitsweep'] / mean['reference']:.2f} (wanted: at most 0.33)")  # fmt: skip


if __name__ == "__main__":
    main()
