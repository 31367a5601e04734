"""Exports real models in many precisions, and shows whether the written files are what was simulated.

    python benchmarks/export_models.py --models FOLDER [NAMES] [--precisions W8A8 W4A16 ...] [--samples N]

FOLDER holds folders with model.onnx, calib.npz and eval.npz. One row per model and precision: levels of optimizations with which
ONNX Runtime loads the file; steps of an output between the file without optimizations and the plain simulation (the same
computation: has to be at most 1), between it and the usual run of the simulation, and between the optimized file and
that; whether the file, read back, simulates the very bits; whether encodings files do, written as 0.6.1, read, written
as 1.0.0, read, written as 2.0.0 and read (a version that can't say something is passed over and named); latencies. Exit code 1 when a file does not load, or does not
do what was simulated.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from bench_models import BenchModel, add_arguments, find

import bitsweep
from bitsweep import QuantizationSimModel
from bitsweep.quantsim import (
    load_encodings_to_sim,
    set_blockwise_quantization_for_weights,
    set_lpbq_for_params,
)

PRODUCTS = ("Conv", "Gemm", "MatMul")
BLOCK = 16


def blocks(sim: QuantizationSimModel) -> None:
    set_blockwise_quantization_for_weights(sim, PRODUCTS, 4, True, BLOCK)


def lpbq(sim: QuantizationSimModel) -> None:
    set_lpbq_for_params(sim, 4, BLOCK, op_types=PRODUCTS)


# Arguments of the simulation, and what is changed before its calibration.
PRECISIONS: dict[str, tuple[dict[str, str], Callable[[QuantizationSimModel], None] | None]] = {
    "W8A8": ({}, None),
    "W4A8": ({"param_type": "int4"}, None),
    "W8A16": ({"activation_type": "int16"}, None),
    "W4A16": ({"param_type": "int4", "activation_type": "int16"}, None),
    "blocks": ({"activation_type": "int16"}, blocks),
    "LPBQ": ({"activation_type": "int16"}, lpbq),
    "float8": ({"param_type": "float8e4m3fn", "activation_type": "float8e4m3fn"}, None),
    "float16": ({"param_type": "float16", "activation_type": "float16"}, None),
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    parser.add_argument("--precisions", nargs="+", default=["W8A8", "W4A16"], choices=PRECISIONS)
    parser.add_argument("--samples", type=int, default=64, help="of eval.npz; -1: all")
    parser.add_argument("--latency-runs", type=int, default=0)
    parser.add_argument("--target", default="onnx", help="target profile of the export")
    return parser.parse_args()


def samples(model: BenchModel, file: str, count: int) -> list[dict]:
    """Inputs that the file does not have (states of recurrent networks) are zeros."""
    proto = onnx.load(model.folder / "model.onnx", load_external_data=False)
    constants = {i.name for i in proto.graph.initializer}
    feeds: list[dict] = []
    with np.load(model.folder / file) as arrays:
        inputs = [v for v in proto.graph.input if v.name not in constants]
        rows = min(len(arrays[v.name]) for v in inputs if v.name in arrays.files)
        for row in range(rows if count < 0 else min(count, rows)):
            feed = {}
            for value in inputs:
                dims = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
                dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
                if value.name not in arrays.files:
                    feed[value.name] = np.zeros(dims, dtype)
                    continue
                sample = arrays[value.name][row]
                feed[value.name] = (sample if sample.ndim == len(dims) else sample[None]).astype(dtype)  # fmt: skip
            feeds.append(feed)
    return feeds


def steps(found: bitsweep._core.VerifyResult, reference: str, tested: str) -> float:
    rows = [a for a in found.agreements if (a.reference, a.tested) == (reference, tested)]
    return max((a.max_steps for a in rows), default=float("nan"))


def same_bits_read_back(sim: QuantizationSimModel, feeds: list[dict]) -> bool:
    """Without biases in 32 bits, which the simulation has in float."""
    again = QuantizationSimModel.from_onnx_qdq(sim.to_onnx_qdq(float16_casts=True))
    return all(
        np.asarray(want).tobytes() == np.asarray(got).tobytes()
        for feed in feeds
        for want, got in zip(sim.session.run(None, feed), again.session.run(None, feed), strict=True)
    )  # fmt: skip


def simulation(model: BenchModel, precision: str) -> QuantizationSimModel:
    options, change = PRECISIONS[precision]
    sim = QuantizationSimModel(str(model.folder / "model.onnx"), **options)
    if change is not None:
        change(sim)
    return sim


def through_files(
    model: BenchModel, precision: str, first: QuantizationSimModel, feeds: list[dict]
) -> tuple[bool, str]:
    """Whether encodings survive one version after another, and what was passed over or lost."""
    sim, said = first, []
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for version in ("0.6.1", "1.0.0", "2.0.0"):
            lost = [loss for loss in sim.encodings_losses(version) if loss.changes_values]
            if lost:
                said.append(f"{version}: {lost[0].tensor} {lost[0].what} ({len(lost)} tensors)")
            try:
                sim.export(scratch, "m", export_model=False, encoding_version=version)
            except bitsweep.Error as refusal:
                said.append(f"{version}: {refusal}")
                continue
            sim = simulation(model, precision)
            load_encodings_to_sim(sim, Path(scratch, "m.encodings"), strict=False)
    same = all(
        np.asarray(want).tobytes() == np.asarray(got).tobytes()
        for feed in feeds
        for want, got in zip(first.session.run(None, feed), sim.session.run(None, feed), strict=True)
    )  # fmt: skip
    return same, "; ".join(said)


def row(model: BenchModel, precision: str, args: argparse.Namespace) -> bool:
    feeds = samples(model, "eval.npz", args.samples)
    sim = simulation(model, precision)
    sim.compute_encodings(samples(model, "calib.npz", args.calibration))
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "q.onnx")
        bitsweep._core.to_onnx_qdq(
            sim.native, integer_weights=True, int32_bias=True, profile=args.target
        ).save(path)
        found = sim.verify(path, feeds, latency_runs=args.latency_runs)
    same = same_bits_read_back(sim, feeds[: args.calibration])
    kept, said = through_files(model, precision, sim, feeds[: args.calibration])
    loads = sum(check.loads for check in found.loads)
    first = found.first_disagreement
    print(
        f"{model.name:15}{precision:9}{loads} of 4{steps(found, 'plain simulation', 'qdq'):9.3g}"
        f"{steps(found, 'simulation', 'qdq'):9.3g}{steps(found, 'simulation', 'qdq optimized'):9.3g}"
        f"  {'bits' if same else 'DIFFERS':8}{'bits' if kept else 'DIFFERS':8}{found.float_ms:9.2f}{found.qdq_ms:9.2f}  "
        f"{'passed' if found.passed else 'FAILED'}"
        + (f"  first: {first.tensor} by {first.max_steps:.3g} steps" if first else "")
        + "".join(
            f"  {text}"
            for text in [*found.problems[:1], *(note for note in found.notes if "NaN" in note)]
        )
        + (f"  {said}" if said else "")
        + "".join(f"  {c.reason}" for c in found.loads if not c.loads),
        flush=True,
    )
    return found.passed and same and kept


def main() -> int:
    args = arguments()
    print(
        f"{'model':15}{'formats':9}{'loads':6}{'plain':>9}{'usual':>9}{'all':>9}  {'again':8}{'files':8}{'float ms':>9}{'qdq ms':>9}"
    )
    good = True
    for model in find(args):
        for precision in args.precisions:
            try:
                good = row(model, precision, args) and good
            except bitsweep.Error as refusal:
                print(f"{model.name:15}{precision:9}{refusal}", flush=True)
                good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
