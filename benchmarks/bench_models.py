"""The models of a folder: NAME/model.onnx with NAME/eval.npz and NAME/calib.npz, one sample per row."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from bitsweep import QuantizationSimModel, open_samples

Feeds = list[dict]


@dataclass(frozen=True)
class BenchModel:
    name: str
    folder: Path

    def feeds(self, file: str, count: int = -1) -> Feeds:
        """Samples of one of the model's files; all of them with -1."""
        return list(open_samples(self.folder / file, self.folder / "model.onnx", max_samples=count))

    def simulation(self, num_calibration: int, **arguments: object) -> QuantizationSimModel:
        """A calibrated simulation."""
        sim = QuantizationSimModel(str(self.folder / "model.onnx"), **arguments)
        sim.compute_encodings(self.feeds("calib.npz", num_calibration))
        return sim


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", help="models of the folder; all when not given")
    parser.add_argument("--models", type=Path, required=True, help="folder with one folder a model")
    parser.add_argument("--calibration", type=int, default=8, help="samples that set the ranges")


def find(arguments: argparse.Namespace) -> list[BenchModel]:
    """The chosen models, by name."""
    found = [
        BenchModel(p.name, p)
        for p in sorted(arguments.models.iterdir())
        if all((p / f).is_file() for f in ("model.onnx", "eval.npz", "calib.npz"))
        and (not arguments.names or p.name in arguments.names)
    ]
    if not found:
        raise SystemExit(f"{arguments.models} holds no such model with eval.npz and calib.npz")
    return found
