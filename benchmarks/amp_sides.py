"""What a comparison of mixed precision needs: the reference's answers, and one judge for the configurations of both sides."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import bench_models
import numpy as np
import onnx

import bitsweep
from bitsweep import _core
from bitsweep.batch_norm_fold import fold_all_batch_norms_to_weight

Widths = list[tuple[int, int]]  # bits of weights and of activations, by candidate


@dataclass
class Point:
    """A configuration: what its side believes, and what the judge finds."""

    believed_db: float
    cost: float
    rows: np.ndarray  # (samples, outputs, 2): signal and noise

    @property
    def db(self) -> float:
        return decibel(self.rows)


def decibel(rows: np.ndarray) -> float:
    """SQNR of the worst output, as `bitsweep mix` measures it."""
    signal, noise = rows.sum(axis=0).T
    return float(10 * np.log10(signal / np.maximum(noise, 1e-30)).min())


def best_within(points: list[Point], cost: float) -> Point | None:
    """What a user of this side would take at this cost: the judge has no say."""
    allowed = [p for p in points if p.cost <= cost * (1 + 1e-9)]
    return max(allowed, key=lambda p: p.believed_db, default=None)


def widths_of(candidates: list[str]) -> Widths:
    return [(int(w), int(a)) for w, a in (c[1:].split("A") for c in candidates)]


def spread_rows(count: int, of: Collection[int] | int) -> list[int]:
    """Rows at equal distances: neighbours in a file are often pieces of one picture or sentence."""
    rows = list(range(of)) if isinstance(of, int) else sorted(of)
    picked = np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int)
    return [rows[i] for i in picked]


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


class Judge:
    """Sets configurations in one simulation and measures them, the same for both sides."""

    def __init__(self, model: Path, calibration: list, samples: list) -> None:
        self.sim = bitsweep.QuantizationSimModel(model)
        self.sim.compute_encodings(calibration)
        self.calibration, self.samples = calibration, samples
        self.exact = [self.sim.session.run_float(None, feed) for feed in samples]

    def set(self, bits: dict[str, int]) -> None:
        for name, width in bits.items():
            self.sim.qc_quantize_op_dict[name].set_bitwidth(width)
        self.sim.native.apply_exception_rules()
        self.sim.compute_encodings(self.calibration)

    def measure(self, bits: dict[str, int], believed_db: float) -> Point:
        self.set(bits)
        rows = []
        for feed, exact in zip(self.samples, self.exact, strict=True):
            rows.append(
                [
                    (np.sum(np.float64(e) ** 2), np.sum((np.float64(e) - q) ** 2))
                    for e, q in zip(exact, self.sim.session.run(None, feed), strict=True)
                ]
            )
        return Point(believed_db, _core.present_costs(self.sim.native)[1], np.array(rows))

    def points_of_reference(self, answer: dict, wanted: Collection[int]) -> list[Point]:
        """These positions of the reference's curve."""
        # It starts from its best candidate everywhere.
        weight, activation = answer["start"]
        params = set(self.sim.param_names)
        bits = {
            name: weight if name in params else activation
            for name, q in self.sim.qc_quantize_op_dict.items()
            if q.enabled
        }
        points = []
        for i, (activations, parameters, (w, a)) in enumerate(answer["changes"]):
            bits |= dict.fromkeys(activations, a) | dict.fromkeys(parameters, w)
            if i in wanted:
                points.append(self.measure(bits, answer["scores"][i]))
        return points


class KeptRanges(Judge):
    """Measures thousands of configurations: the ranges of each width come from one calibration, in front of float weights."""

    def __init__(self, model: Path, calibration: list, samples: list, widths: Widths) -> None:
        super().__init__(model, calibration, samples)
        self.quantizers = {n: q for n, q in self.sim.qc_quantize_op_dict.items() if q.enabled}
        params = set(self.sim.param_names) & set(self.quantizers)
        self.kept: dict[tuple[str, int], object] = {}
        for bits in sorted({b for pair in widths for b in pair}):
            for q in self.quantizers.values():
                q.set_bitwidth(bits)
            for names in (params, set(self.quantizers) - params):
                for name in params:
                    self.quantizers[name].enabled = names is params
                self.sim.compute_encodings(calibration)
                for name in names:
                    self.kept[name, bits] = self.quantizers[name].native.snapshot()
        for name in params:
            self.quantizers[name].enabled = True

    def set(self, bits: dict[str, int]) -> None:
        for name, width in bits.items():
            if name in self.quantizers:  # those that calibration left in float are in groups, too
                self.quantizers[name].native.restore(self.kept[name, width])


def group_bits(group: _core.QuantizerGroup, weight: int, activation: int) -> dict[str, int]:
    return dict.fromkeys(group.activations, activation) | dict.fromkeys(group.parameters, weight)


def bits_of(result: _core.MixResult, point: _core.MixPoint) -> dict[str, int]:
    bits: dict[str, int] = {}
    for group, candidate in zip(result.groups, point.by_group, strict=True):
        bits |= group_bits(group, candidate.parameter.bitwidth, candidate.activation.bitwidth)
    return bits


class Reference:
    """The peer in its own environment; its answers are kept in a folder."""

    def __init__(self, python: str, answers: Path, name: str, question: dict) -> None:
        self.python, self.answers = python, answers
        self.name = "_".join([name, *(f"W{w}A{a}" for w, a in question["candidates"])])
        self.name += f"_{len(question['calibration_rows'])}_{len(question['search_rows'])}"
        self.question = question

    def ask(self, quality: float | None, repeat: int = 0) -> dict:
        wanted = "curve" if quality is None else f"{quality:.2f}"
        if repeat > 0:
            wanted += f"_{repeat}"
        answer = self.answers / f"{self.name}_{wanted}.json"
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
