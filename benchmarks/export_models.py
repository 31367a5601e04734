"""Quantizes real models, and shows whether the written files are what was simulated.

    python benchmarks/export_models.py MODELS [--bits W8A8 W4A16 ...] [--samples N]

MODELS is a folder of folders with model.onnx and calib.npz. One row per model and widths: levels of optimizations with
which ONNX Runtime loads the file, steps between simulation and file without and with optimizations, latencies. Exit code
1 when a file does not load or, without optimizations, differs by more than one step of an output.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", type=Path, help="folder of folders with model.onnx and calib.npz")
    parser.add_argument("--bits", nargs="+", default=["W8A8", "W4A16"])
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--only", nargs="*", help="names of models")
    parser.add_argument("--rules", default="default")
    return parser.parse_args()


def steps(found: dict, tested: str) -> float:
    rows = [
        a for a in found["agreements"] if a["reference"] == "simulation" and a["tested"] == tested
    ]
    return max((float(a["max_steps"]) for a in rows), default=float("nan"))


def row(folder: Path, bits: str, args: argparse.Namespace) -> bool:
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [sys.executable, "-m", "bitsweep", "quantize", folder / "model.onnx", "--data", folder / "calib.npz", "-o",
             Path(scratch, "q.onnx"), "--bits", bits, "--samples", str(args.samples), "--rules", args.rules, "--json"],
            capture_output=True, text=True, check=False)  # fmt: skip
    if not done.stdout.strip():
        print(f"{folder.name:16}{bits:8}{done.stderr.strip().splitlines()[-1]}", flush=True)
        return False
    found = json.loads(done.stdout)
    loads = sum(check["loads"] for check in found["loads"])
    first = found["first_disagreement"] or found["first_half_step"]
    latency = found["latency_ms"]
    print(
        f"{folder.name:16}{bits:8}{loads} of 4{steps(found, 'qdq'):11.3g}{steps(found, 'qdq optimized'):11.3g}"
        f"{latency['float']:10.2f}{latency['qdq']:10.2f}  {'passed' if found['passed'] else 'FAILED'}"
        + (
            f"  first: {first['tensor']} {100 * first['share']:.2g} % of its values"
            if first
            else ""
        )
        + "".join(f"  {p}" for p in found["problems"][:1])
        + "".join(f"  {c['reason']}" for c in found["loads"] if not c["loads"]),
        flush=True,
    )
    return bool(found["passed"])


def main() -> int:
    args = arguments()
    print(f"{'model':16}{'bits':8}{'loads':6}{'off':>11}{'all':>11}{'float ms':>10}{'qdq ms':>10}")
    good = True
    for folder in sorted(p.parent for p in args.models.glob("*/model.onnx")):
        if args.only and folder.name not in args.only:
            continue
        for bits in args.bits:
            good = row(folder, bits, args) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
