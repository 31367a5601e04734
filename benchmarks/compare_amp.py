"""Mixed precision side by side: quality at equal cost, and time, of the reference's search and of bitsweep's.

    compare_amp.py MODEL --data SEARCH.npz --test TEST.npz --calibration CALIB.npz --peer-python PYTHON [--samples N]

Both get the same model, samples and candidates. The reference runs its brute-force search without a limit: its whole
curve. Every configuration of it, and every one of bitsweep's curve, is then set in one and the same simulation,
calibrated, and measured on test samples that no search saw; costs count every product. Prints for each point of the
reference the best quality that bitsweep has at no higher cost, with a paired bootstrap interval of the difference over
the test samples, and the times.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import bitsweep
from bitsweep import _core

CANDIDATES = ["W8A16", "W8A8"]
DRAWS = 1000

PEER = """
import json, sys, time
import numpy as np, onnx
from aimet_onnx.common.amp.utils import AMPSearchAlgo
from aimet_onnx.common.defs import CallbackFunc, QuantizationDataType as T
from aimet_onnx.mixed_precision import choose_mixed_precision
from aimet_onnx.quantsim import QuantizationSimModel
import onnxruntime as ort

model_path, search, calibration, samples, candidates, results, out = sys.argv[1:8]
candidates = [((a, T.int), (w, T.int)) for w, a in json.loads(candidates)]
def feeds(path):
    arrays = np.load(path)
    names = [i.name for i in ort.InferenceSession(model_path, providers=["CPUExecutionProvider"]).get_inputs()]
    count = min(int(samples), *(len(arrays[n]) for n in names))
    return [{n: arrays[n][i : i + 1] for n in names} for i in range(count)]
search, calibration = feeds(search), feeds(calibration)
model = onnx.load(model_path)
reference = [ort.InferenceSession(model_path, providers=["CPUExecutionProvider"]).run(None, f) for f in search]
def score(session, _=None):
    signal = noise = 0.0
    for feed, exact in zip(search, reference):
        for e, q in zip(exact, session.run(None, feed)):
            signal += float(np.sum(np.float64(e) ** 2)); noise += float(np.sum((np.float64(e) - q) ** 2))
    return 10 * np.log10(signal / (noise + 1e-10 * signal))
def calibrate(session, _=None):
    for feed in calibration:
        session.run(None, feed)
sim = QuantizationSimModel(model, providers=["CPUExecutionProvider"])
begin = time.time()
sim.compute_encodings(calibrate, None)
points = choose_mixed_precision(sim, candidates, CallbackFunc(score), CallbackFunc(score), None, results, True,
                                CallbackFunc(calibrate), amp_search_algo=AMPSearchAlgo.BruteForce)
seconds = time.time() - begin
changes = [[[*p.group.activation_quantizers], [*p.group.parameter_quantizers], [p.candidate[0][0], p.candidate[1][0]]]
           if hasattr(p, "group") else [[*p[2].activation_quantizers], [*p[2].parameter_quantizers], [p[3][0][0], p[3][1][0]]]
           for p in points]
json.dump({"seconds": seconds, "changes": changes}, open(out, "w"))
"""


def read(path: Path, names: list[str], samples: int) -> list[dict[str, np.ndarray]]:
    arrays = np.load(path)
    count = min(samples, *(len(arrays[name]) for name in names))
    return [{name: arrays[name][i : i + 1] for name in names} for i in range(count)]


class Judge:
    """Sets configurations in one simulation and measures them on the test samples."""

    def __init__(self, model: Path, calibration: list, test: list) -> None:
        self.sim = bitsweep.QuantizationSimModel(model)
        self.sim.compute_encodings(calibration)
        self.calibration, self.test = calibration, test
        self.exact = [self.sim.session.run_float(None, feed) for feed in test]

    def measure(self, bits: dict[str, int]) -> tuple[float, np.ndarray]:
        """Bit operations in units of 10^9, and (signal, noise) of each test sample."""
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
        return _core.present_costs(self.sim.native)[1], np.array(rows)


def decibel(rows: np.ndarray) -> float:
    return float(10 * np.log10(rows[:, 0].sum() / max(rows[:, 1].sum(), 1e-30)))


def interval(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """95% of the difference in dB, by drawing samples with replacement, the same for both."""
    rng = np.random.default_rng(0)
    draws = rng.integers(len(ours), size=(DRAWS, len(ours)))
    differences = [decibel(ours[d]) - decibel(theirs[d]) for d in draws]
    low, high = np.percentile(differences, [2.5, 97.5])
    return float(low), float(high)


def peer_curve(arguments: argparse.Namespace, widths: list[tuple[int, int]]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "peer.json"
        subprocess.run(
            [arguments.peer_python, "-c", PEER, arguments.model, arguments.data, arguments.calibration,
             str(arguments.samples), json.dumps(widths), folder + "/results", out],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return json.loads(out.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    for name in ("--data", "--test", "--calibration"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--candidates", default=",".join(CANDIDATES))
    arguments = parser.parse_args()
    candidates = arguments.candidates.split(",")
    widths = [tuple(int(n) for n in c[1:].split("A")) for c in candidates]

    sim = bitsweep.QuantizationSimModel(arguments.model)
    names = [i.name for i in sim.session.get_inputs()]
    search = read(arguments.data, names, arguments.samples)
    calibration = read(arguments.calibration, names, arguments.samples)
    test = read(arguments.test, names, 10**9)

    begin = time.monotonic()
    result = bitsweep.mix(sim, search, candidates, calibration=calibration, frontier_points=24)
    ours_s = time.monotonic() - begin
    peer = peer_curve(arguments, widths)

    judge = Judge(arguments.model, calibration, test)
    ours = []
    for point in result.frontier:
        bits = {}
        for group, candidate in zip(result.groups, point.by_group, strict=True):
            bits |= dict.fromkeys(group.activations, candidate.activation.bitwidth)
            bits |= dict.fromkeys(group.parameters, candidate.parameter.bitwidth)
        ours.append(judge.measure(bits))
    # The reference starts from its best candidate everywhere, the one with the most bits here.
    weight, activation = max(widths, key=lambda w: w[0] * w[1])
    params = set(judge.sim.param_names)
    bits = {
        n: weight if n in params else activation
        for n, q in judge.sim.qc_quantize_op_dict.items()
        if q.enabled
    }
    differences = []
    print("gbops    reference    bitsweep    difference (95%)")
    for activations, parameters, (a, w) in peer["changes"]:
        bits |= dict.fromkeys(activations, a) | dict.fromkeys(parameters, w)
        cost, rows = judge.measure(bits)
        allowed = [o for o in ours if o[0] <= cost * (1 + 1e-9)]
        if not allowed:
            continue
        best = max(allowed, key=lambda o: decibel(o[1]))
        low, high = interval(best[1], rows)
        differences.append(decibel(best[1]) - decibel(rows))
        print(f"{cost:8.4f} {decibel(rows):8.2f} dB {decibel(best[1]):8.2f} dB"
              f" {differences[-1]:+8.2f} ({low:+.2f} to {high:+.2f})")  # fmt: skip
    if differences:
        print(f"median difference {np.median(differences):+.2f} dB over {len(differences)} points")
    print(f"time: reference {peer['seconds']:.1f} s, bitsweep {ours_s:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
