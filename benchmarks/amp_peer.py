"""The reference's search in a process of its own: amp_peer.py QUESTION.json ANSWER.json (run with the peer's Python).

The question holds model, files of samples, how many of them, candidates, and the quality to reach (null: the whole
curve). The answer holds CPU seconds from calibration to the end, and the changes of the curve in their order.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from aimet_onnx.common.amp.utils import AMPSearchAlgo
from aimet_onnx.common.defs import CallbackFunc, QuantizationDataType
from aimet_onnx.mixed_precision import choose_mixed_precision
from aimet_onnx.quantsim import QuantizationSimModel

PROVIDERS = ["CPUExecutionProvider"]
# A score in dB needs a largest value: that of the float model.
MAX_DB = 100.0


def feeds(path: str, names: list[str], count: int) -> list[dict[str, np.ndarray]]:
    arrays = np.load(path)
    return [{n: arrays[n][i : i + 1] for n in names} for i in range(count)]


def main() -> None:
    question = json.loads(Path(sys.argv[1]).read_text())
    plain = ort.InferenceSession(question["model"], providers=PROVIDERS)
    names = [i.name for i in plain.get_inputs()]
    search = feeds(question["search"], names, question["samples"])
    calibration = feeds(question["calibration"], names, question["samples"])
    exact = [plain.run(None, feed) for feed in search]

    def score(session: ort.InferenceSession, _: object = None) -> float:
        signal = noise = 0.0
        for feed, outputs in zip(search, exact, strict=True):
            for e, q in zip(outputs, session.run(None, feed), strict=True):
                signal += float(np.sum(np.float64(e) ** 2))
                noise += float(np.sum((np.float64(e) - q) ** 2))
        return float(10 * np.log10(signal / (noise + 10 ** (-MAX_DB / 10) * signal)))

    def calibrate(session: ort.InferenceSession, _: object = None) -> None:
        for feed in calibration:
            session.run(None, feed)

    kind = QuantizationDataType.int
    candidates = [((a, kind), (w, kind)) for w, a in question["candidates"]]
    wanted = question["quality"]
    sim = QuantizationSimModel(onnx.load(question["model"]), providers=PROVIDERS)
    begin = time.process_time()
    sim.compute_encodings(calibrate, None)
    with tempfile.TemporaryDirectory() as folder:
        points = choose_mixed_precision(
            sim,
            candidates,
            CallbackFunc(score),
            CallbackFunc(score),
            None if wanted is None else MAX_DB - wanted,
            folder,
            True,
            CallbackFunc(calibrate),
            amp_search_algo=AMPSearchAlgo.BruteForce if wanted is None else AMPSearchAlgo.Binary,
        )
    seconds = time.process_time() - begin
    changes = [
        [sorted(group.activation_quantizers), sorted(group.parameter_quantizers), [w[0], a[0]]]
        for _, _, group, (a, w) in points or []
    ]
    answer = {
        "seconds": seconds,
        "scores": [float(p[1]) for p in points or []],
        "changes": changes,
        "score": score(sim.session),
    }
    Path(sys.argv[2]).write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
