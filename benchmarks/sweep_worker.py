"""One side of a side-by-side sweep: answers requests on stdin with one JSON line each on stdout.

    python sweep_worker.py PACKAGE        PACKAGE is bitsweep or aimet_onnx

Both packages are driven by the same lines, since they share their names; so import, model building and calibration
happen once, outside of what is timed. Anything else that a package prints goes to stderr.

Requests: {"do": "hello" | "fold" | "prepare" | "keep" | "metric" | "sweep" | "float" | "simulated" | "quit", ...arguments}; see `Worker`.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

Feed = dict[str, np.ndarray]


def read_feeds(path: Path, model: onnx.ModelProto, count: int) -> list[Feed]:
    """The first `count` rows of the arrays that are named after the model's inputs, one row per feed."""
    weights = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in weights]
    with np.load(path) as arrays:
        missing = [name for name in names if name not in arrays]
        if missing:
            raise SystemExit(
                f"{path}: no array for model input {missing}; name the arrays after the inputs"
            )
        rows = {name: arrays[name][:count] for name in names}
    available = min(len(array) for array in rows.values())
    if available < count:
        raise SystemExit(
            f"{path}: {available} samples, {count} asked for; ask for fewer with --samples"
        )
    return [{name: array[i : i + 1] for name, array in rows.items()} for i in range(count)]


def memory_kib(field: str) -> int:
    """VmHWM (peak) or VmRSS (now) of this process, in KiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {field}")


class Worker:
    def __init__(self, package: str) -> None:
        self._quantsim = importlib.import_module(f"{package}.quantsim")
        self._analysis = importlib.import_module(f"{package}.analysis")
        self._utils = importlib.import_module(f"{package}.utils")
        self._package = importlib.import_module(package)
        self._name = package
        self._after_import_kib = memory_kib("VmRSS")

    def hello(self) -> dict[str, Any]:
        version = getattr(self._package, "__version__", "unknown")
        return {
            "version": version,
            "onnxruntime": ort.__version__,
            "after_import_kib": self._after_import_kib,
        }

    def fold(self, model: str, folded: str) -> dict[str, Any]:
        """Writes the model with batch norms folded: done by one side, so that both sweep the same weights."""
        folding = importlib.import_module(f"{self._name}.batch_norm_fold")
        float_model = onnx.load(model)
        folding.fold_all_batch_norms_to_weight(float_model)
        onnx.save(float_model, folded)
        return {}

    def prepare(
        self,
        model: str,
        data: str,
        calibration: str,
        samples: int,
        calibration_samples: int,
        threads: int,
        sim_session_options: dict[str, Any],
        opaque_metric: bool,
    ) -> dict[str, Any]:
        """Builds and calibrates the simulation; gives its encodings, as (step, offset) per channel.

        `opaque_metric`: the metric is a function that the package cannot look into, as a user's own would be.
        """
        start = time.perf_counter()
        float_model = onnx.load(model)
        self._feeds = read_feeds(Path(data), float_model, samples)
        calibration_feeds = read_feeds(Path(calibration), float_model, calibration_samples)
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self._float_session = ort.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )

        self._sim = self._quantsim.QuantizationSimModel(
            float_model, config_file="default", session_options_kwargs=sim_session_options
        )
        self._sim.compute_encodings(calibration_feeds)
        self._opaque_metric = opaque_metric
        self.keep(samples)
        encodings = {
            name: [(cell.delta, cell.offset) for cell in quantizer.get_encodings()]
            for name, quantizer in self._sim.qc_quantize_op_dict.items()
            if quantizer.enabled
        }
        return {"seconds": time.perf_counter() - start, "encodings": encodings}

    def keep(self, samples: int) -> dict[str, Any]:
        """Scores with the first `samples` samples from now on."""
        self._feeds = self._feeds[:samples]
        evaluate = self._utils.make_psnr_eval_fn(self._float_session, self._feeds, None)
        function = (lambda session: evaluate(session)) if self._opaque_metric else evaluate
        self._metric = self._analysis.SensitivityMetric("PSNR", function, higher_is_worse=False)
        return {}

    def sweep(self) -> dict[str, Any]:
        start = time.perf_counter()
        scores = self._analysis.analyze_per_quantizer_sensitivity(self._sim, self._metric)
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "scores": scores, "peak_kib": memory_kib("VmHWM")}

    def metric(self) -> dict[str, Any]:
        """Seconds of one evaluation of the metric with every quantizer off: what a sweep repeats."""
        quantizers = [
            quantizer for quantizer in self._sim.qc_quantize_op_dict.values() if quantizer.enabled
        ]
        for quantizer in quantizers:
            quantizer.enabled = False
        times = []
        for _ in range(4):
            start = time.perf_counter()
            self._metric(self._sim.session)
            times.append(time.perf_counter() - start)
        for quantizer in quantizers:
            quantizer.enabled = True
        return {"seconds": float(np.median(times[1:]))}

    def simulated_pass(self) -> dict[str, Any]:
        """Seconds of the whole simulated model per sample, with every quantizer on."""
        return self._time_per_sample(self._sim.session)

    def float_pass(self) -> dict[str, Any]:
        """Seconds of the plain float session per sample: the unit in which sweeps are compared."""
        return self._time_per_sample(self._float_session)

    def _time_per_sample(self, session: Any) -> dict[str, float]:
        """By the clock, and CPU time of all threads, which says what a run costs on a busy machine."""
        session.run(None, self._feeds[0])
        times = []
        for feed in self._feeds:
            start, cpu_start = time.perf_counter(), time.process_time()
            session.run(None, feed)
            times.append((time.perf_counter() - start, time.process_time() - cpu_start))
        seconds, cpu_seconds = np.median(times, axis=0)
        return {"seconds": float(seconds), "cpu_seconds": float(cpu_seconds)}


def main() -> None:
    # The answers get a channel of their own: whatever a package prints must not look like one.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    worker = Worker(sys.argv[1])
    handlers: dict[str, Callable[..., dict[str, Any]]] = {
        "hello": worker.hello,
        "fold": worker.fold,
        "prepare": worker.prepare,
        "keep": worker.keep,
        "metric": worker.metric,
        "sweep": worker.sweep,
        "float": worker.float_pass,
        "simulated": worker.simulated_pass,
    }
    for line in sys.stdin:
        request = json.loads(line)
        action = request.pop("do")
        if action == "quit":
            return
        print(json.dumps(handlers[action](**request)), file=answers, flush=True)


if __name__ == "__main__":
    main()
