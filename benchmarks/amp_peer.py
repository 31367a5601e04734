"""The reference's search in a process of its own: amp_peer.py QUESTION.json ANSWER.json (run with the peer's Python).

The question holds model, files of samples with the rows to take, candidates, and the quality to reach (null: the whole
curve). The answer holds CPU seconds from calibration to the end, and the changes of the curve in their order.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import aimet_onnx.utils
import numpy as np
import onnx
import onnxruntime as ort
from aimet_onnx.amp.mixed_precision_algo import GreedyMixedPrecisionAlgo
from aimet_onnx.common.amp.utils import AMPSearchAlgo
from aimet_onnx.common.defs import CallbackFunc, QuantizationDataType
from aimet_onnx.quantsim import QuantizationSimModel

PROVIDERS = ["CPUExecutionProvider"]
# A score in dB needs a largest value: that of the float model.
MAX_DB = 100.0


def feeds(path: str, names: list[str], rows: list[int]) -> list[dict[str, np.ndarray]]:
    arrays = np.load(path)
    inputs = {n: arrays[n] for n in names}
    return [{n: values[i : i + 1] for n, values in inputs.items()} for i in rows]


def main() -> None:
    question = json.loads(Path(sys.argv[1]).read_text())
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    plain = ort.InferenceSession(question["model"], options, providers=PROVIDERS)
    names = [i.name for i in plain.get_inputs()]
    search = feeds(question["search"], names, question["search_rows"])
    calibration = feeds(question["calibration"], names, question["calibration_rows"])
    exact = [plain.run(None, feed) for feed in search]

    def score(session: ort.InferenceSession, _: object = None) -> float:
        # Of the worst output, as bitsweep has it.
        signal, noise = np.zeros(len(exact[0])), np.zeros(len(exact[0]))
        for feed, outputs in zip(search, exact, strict=True):
            for i, (e, q) in enumerate(zip(outputs, session.run(None, feed), strict=True)):
                signal[i] += np.sum(np.float64(e) ** 2)
                noise[i] += np.sum((np.float64(e) - q) ** 2)
        return float(10 * np.log10(signal / (noise + 10 ** (-MAX_DB / 10) * signal)).min())

    def calibrate(session: ort.InferenceSession, _: object = None) -> None:
        for feed in calibration:
            session.run(None, feed)

    kind = QuantizationDataType.int
    candidates = [((a, kind), (w, kind)) for w, a in question["candidates"]]
    wanted = question["quality"]
    # For counting MACs it feeds random integers, which are no valid indices of an embedding.
    aimet_onnx.utils.make_dummy_input = lambda *_, **__: search[0]
    # One thread: CPU time would count waiting threads as well.
    sim = QuantizationSimModel(
        onnx.load(question["model"]),
        providers=PROVIDERS,
        session_options_kwargs={"intra_op_num_threads": 1},
    )
    begin = time.process_time()
    sim.compute_encodings(calibrate, None)
    with tempfile.TemporaryDirectory() as folder:
        # What choose_mixed_precision() does, but it keeps its candidate to start from to itself.
        search_of_peer = GreedyMixedPrecisionAlgo(
            sim,
            candidates,
            CallbackFunc(score),
            CallbackFunc(score),
            folder,
            True,
            CallbackFunc(calibrate),
            False,
            True,
        )
        search_of_peer.run(
            None if wanted is None else MAX_DB - wanted,
            AMPSearchAlgo.BruteForce if wanted is None else AMPSearchAlgo.Binary,
        )
    seconds = time.process_time() - begin
    points = search_of_peer.pareto_list or []
    (activation, _), (weight, _) = search_of_peer.baseline_candidate
    changes = [
        [sorted(group.activation_quantizers), sorted(group.parameter_quantizers), [w[0], a[0]]]
        for _, _, group, (a, w) in points
    ]
    answer = {
        "seconds": seconds,
        "start": [weight, activation],
        "scores": [float(p[1]) for p in points],
        "changes": changes,
        "score": score(sim.session),
    }
    Path(sys.argv[2]).write_text(json.dumps(answer))


if __name__ == "__main__":
    main()
