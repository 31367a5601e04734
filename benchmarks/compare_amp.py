"""Mixed precision side by side: quality at equal cost, and CPU time, of the reference's search and of bitsweep's.

    compare_amp.py --models DIR --peer-python PYTHON [NAME ...] [--answers DIR]

Both get the same model, calibration and search samples, groups and candidates. The reference runs its brute-force
search without a limit (its whole curve), and its default search for one quality. All configurations are then set in
one and the same simulation, calibrated, and measured on test samples that no search saw; costs count every product.
Printed for each cost of the reference's curve: the best quality that each side has at no higher cost, chosen by what that
side measured itself, with a paired bootstrap interval over the test samples; then the area under both curves and
the CPU times. `--answers` keeps the reference's answers, so that a second run only repeats bitsweep's side.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import bench_models
import numpy as np
import onnx

import bitsweep
from bitsweep import _core
from bitsweep.batch_norm_fold import fold_all_batch_norms_to_weight

DRAWS = 1000
# The reference recalibrates and measures hundreds of points; these many are enough to see the curve.
MAX_POINTS = 20


@dataclass
class Point:
    """A configuration: what its side believes, and what the judge finds."""

    believed_db: float
    cost: float
    rows: np.ndarray  # (signal, noise) by test sample

    @property
    def db(self) -> float:
        return decibel(self.rows)


def decibel(rows: np.ndarray) -> float:
    return float(10 * np.log10(rows[:, 0].sum() / max(rows[:, 1].sum(), 1e-30)))


class Judge:
    """Sets configurations in one simulation and measures them on the test samples."""

    def __init__(self, model: Path, calibration: list, test: list) -> None:
        self.sim = bitsweep.QuantizationSimModel(model)
        self.sim.compute_encodings(calibration)
        self.calibration, self.test = calibration, test
        self.exact = [self.sim.session.run_float(None, feed) for feed in test]

    def measure(self, bits: dict[str, int], believed_db: float) -> Point:
        for name, width in bits.items():
            self.sim.qc_quantize_op_dict[name].set_bitwidth(width)
        self.sim.native.apply_exception_rules()
        self.sim.compute_encodings(self.calibration)
        rows = []
        for feed, exact in zip(self.test, self.exact, strict=True):
            signal = noise = 0.0
            for e, q in zip(exact, self.sim.session.run(None, feed), strict=True):
                signal += float(np.sum(np.float64(e) ** 2))
                noise += float(np.sum((np.float64(e) - q) ** 2))
            rows.append((signal, noise))
        return Point(believed_db, _core.present_costs(self.sim.native)[1], np.array(rows))


def interval(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """95% of the difference in dB, by drawing samples with replacement, the same for both."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(ours), size=(DRAWS, len(ours)))
    differences = [decibel(ours[d]) - decibel(theirs[d]) for d in draws]
    low, high = np.percentile(differences, [2.5, 97.5])
    return float(low), float(high)


def best_within(points: list[Point], cost: float) -> Point | None:
    """What a user of this side would take at this cost: the test samples have no say."""
    allowed = [p for p in points if p.cost <= cost * (1 + 1e-9)]
    return max(allowed, key=lambda p: p.believed_db, default=None)


def area(points: list[Point], low: float, high: float, floor_db: float) -> float:
    """Mean of the quality above `floor_db` over all costs between the two, in dB."""
    costs = np.linspace(low, high, 400)
    found = [best_within(points, c) for c in costs]
    return float(np.mean([max(0.0, p.db - floor_db) if p else 0.0 for p in found]))


def prepared(model: bench_models.BenchModel, sample: dict, folder: Path) -> Path:
    """The model for both sides: batch norms folded, and the shapes of a sample, without which the reference fails."""
    proto = onnx.load(model.folder / "model.onnx")
    for value in proto.graph.input:
        if value.name in sample:
            shape = value.type.tensor_type.shape
            shape.ClearField("dim")
            for size in sample[value.name].shape:
                shape.dim.add().dim_value = size
    fold_all_batch_norms_to_weight(proto)
    path = folder / f"{model.name}.onnx"
    onnx.save(proto, path)
    return path


class Reference:
    """The peer in its own environment; its answers are kept in a folder."""

    def __init__(self, python: str, answers: Path, model: bench_models.BenchModel, path: Path,
                 samples: int, candidates: list[tuple[int, int]]) -> None:  # fmt: skip
        self.python, self.answers, self.model = python, answers, model
        self.question = {
            "model": str(path),
            "search": str(model.folder / "eval.npz"),
            "calibration": str(model.folder / "calib.npz"),
            "samples": samples,
            "candidates": candidates,
        }

    def ask(self, quality: float | None) -> dict:
        name = "_".join([self.model.name, *(f"W{w}A{a}" for w, a in self.question["candidates"])])
        name += f"_{self.question['samples']}_{'curve' if quality is None else f'{quality:.2f}'}"
        answer = self.answers / f"{name}.json"
        if not answer.exists():
            asked = answer.with_suffix(".question")
            asked.write_text(json.dumps(self.question | {"quality": quality}))
            script = Path(__file__).with_name("amp_peer.py")
            done = subprocess.run(
                [self.python, script, asked, answer], capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise SystemExit(f"the reference failed: {done.stderr.strip().splitlines()[-1]}")
        return json.loads(answer.read_text())


def bits_of(result: _core.MixResult, point: _core.MixPoint) -> dict[str, int]:
    bits: dict[str, int] = {}
    for group, candidate in zip(result.groups, point.by_group, strict=True):
        bits |= dict.fromkeys(group.activations, candidate.activation.bitwidth)
        bits |= dict.fromkeys(group.parameters, candidate.parameter.bitwidth)
    return bits


def compare(model: bench_models.BenchModel, arguments: argparse.Namespace) -> None:
    candidates = arguments.candidates.split(",")
    widths = [tuple(int(n) for n in c[1:].split("A")) for c in candidates]
    n = arguments.samples
    samples = model.feeds("eval.npz", n + arguments.test_samples)
    search, test = samples[:n], samples[n:]
    calibration = model.feeds("calib.npz", n)
    path = prepared(model, search[0], arguments.answers)
    reference = Reference(arguments.peer_python, arguments.answers, model, path, n, widths)

    sim = bitsweep.QuantizationSimModel(path)
    begin = time.process_time()
    result = bitsweep.mix(sim, search, candidates, calibration=calibration,
                          frontier_points=arguments.points)  # fmt: skip
    ours_s = time.process_time() - begin
    peer = reference.ask(None)

    judge = Judge(path, calibration, test)
    ours = [judge.measure(bits_of(result, p), p.expected_db) for p in result.frontier]
    # The reference starts from its best candidate everywhere, the one with the most bits here.
    weight, activation = max(widths, key=lambda w: w[0] * w[1])
    params = set(judge.sim.param_names)
    bits = {
        name: weight if name in params else activation
        for name, q in judge.sim.qc_quantize_op_dict.items()
        if q.enabled
    }
    wanted = set(np.linspace(0, len(peer["changes"]) - 1, MAX_POINTS).astype(int).tolist())
    theirs = []
    for i, (activations, parameters, (w, a)) in enumerate(peer["changes"]):
        bits |= dict.fromkeys(activations, a) | dict.fromkeys(parameters, w)
        if i in wanted:
            theirs.append(judge.measure(bits, peer["scores"][i]))

    print(f"\n{model.name}: {', '.join(candidates)}, {n} search samples, {len(test)} test samples")
    print("   gbops   reference    bitsweep  difference (95%)")
    differences = []
    worse = 0
    for cost in sorted({p.cost for p in theirs}):
        best, other = best_within(ours, cost), best_within(theirs, cost)
        if best is None or other is None:
            continue
        low, high = interval(best.rows, other.rows)
        differences.append(best.db - other.db)
        worse += high < 0
        print(f"{cost:8.4f} {other.db:8.2f} dB {best.db:8.2f} dB {differences[-1]:+8.2f} ({low:+.2f} to {high:+.2f})")  # fmt: skip
    low = max(min(p.cost for p in ours), min(p.cost for p in theirs))
    high = max(p.cost for p in theirs)
    floor_db = min(p.db for p in [*ours, *theirs])
    print(f"median {np.median(differences):+.2f} dB over {len(differences)} costs, worse beyond the interval at {worse}")  # fmt: skip
    print(f"area under the curve above {floor_db:.2f} dB: reference {area(theirs, low, high, floor_db):.3f} dB,"
          f" bitsweep {area(ours, low, high, floor_db):.3f} dB")  # fmt: skip
    print(f"CPU time, whole curve: reference {peer['seconds']:.1f} s, bitsweep {ours_s:.1f} s,"
          f" ratio {peer['seconds'] / ours_s:.1f}")  # fmt: skip

    quality = float(np.median(peer["scores"]))
    one = reference.ask(quality)
    sim = bitsweep.QuantizationSimModel(path)
    begin = time.process_time()
    chosen = bitsweep.mix(sim, search, candidates, f"sqnr>={quality}", calibration=calibration,
                          frontier_points=0).chosen  # fmt: skip
    ours_s = time.process_time() - begin
    print(f"CPU time to reach {quality:.2f} dB: reference {one['seconds']:.1f} s ({one['score']:.2f} dB), bitsweep"
          f" {ours_s:.1f} s ({chosen.measured_db if chosen else float('nan'):.2f} dB), ratio"
          f" {one['seconds'] / ours_s:.1f}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    bench_models.add_arguments(parser)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--samples", type=int, default=8, help="to calibrate and to search with")
    parser.add_argument("--test-samples", type=int, default=32)
    parser.add_argument("--candidates", default="W8A16,W8A8")
    parser.add_argument("--points", type=int, default=24, help="of bitsweep's curve")
    parser.add_argument("--answers", type=Path, default=Path("build/amp-answers"))
    arguments = parser.parse_args()
    arguments.answers.mkdir(parents=True, exist_ok=True)
    for model in bench_models.find(arguments):
        compare(model, arguments)


if __name__ == "__main__":
    sys.exit(main())
