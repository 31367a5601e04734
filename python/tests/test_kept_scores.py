"""Scores of a user's own metric in a run directory: kept, found again, and never served for another question."""

from __future__ import annotations

import functools
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import models
from bitsweep._fingerprint import fingerprint
from bitsweep.analysis import (
    SensitivityMetric,
    analyze_per_layer_sensitivity,
    analyze_per_quantizer_sensitivity,
)
from bitsweep.progress import TextProgress
from bitsweep.utils import make_psnr_eval_fn
from sessions import calibrated


def counted(feeds):
    """A metric of the user's own, with the list of its calls, which `identity` keeps out of the question."""
    calls = []

    def eval_fn(session):
        calls.append(1)
        return float(sum(session.run(None, f)[0].sum() for f in feeds))

    return SensitivityMetric("sum", eval_fn, identity="sum of the outputs"), calls


class TestRunDirectory:
    def test_second_call_asks_the_metric_for_nothing_and_says_so(
        self, cnn, cnn_sim, tmp_path, caplog
    ):
        caplog.set_level(logging.INFO, "bitsweep")
        metric, calls = counted(cnn.feeds)
        first = analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path)
        assert len(calls) == len(first)
        assert not caplog.messages
        stream = io.StringIO()
        second = analyze_per_quantizer_sensitivity(
            cnn_sim, metric, run_directory=tmp_path, progress=TextProgress(stream)
        )
        assert len(calls) == len(first)
        assert second == first
        said = f"continued: {len(first)} of {len(first)} scores were in {tmp_path} already"
        assert caplog.messages == [said]
        assert stream.getvalue().endswith(said + "\n")

    def test_stopped_sweep_continues_where_it_was(self, cnn, cnn_sim, tmp_path):
        metric, calls = counted(cnn.feeds)
        analyze_per_quantizer_sensitivity(
            cnn_sim, metric, run_directory=tmp_path, progress=lambda p: p.done == 2
        )
        assert len(calls) == 2
        rest = analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path)
        assert len(calls) == len(rest)
        assert rest == analyze_per_quantizer_sensitivity(cnn_sim, metric)

    def test_layers_share_it(self, cnn, cnn_sim, tmp_path):
        metric, calls = counted(cnn.feeds)
        first = analyze_per_layer_sensitivity(cnn_sim, metric, run_directory=tmp_path)
        num_calls = len(calls)
        assert analyze_per_layer_sensitivity(cnn_sim, metric, run_directory=tmp_path) == first
        assert len(calls) == num_calls

    def test_metrics_of_the_engine_are_kept_too(self, cnn, cnn_sim, float_of, tmp_path, caplog):
        caplog.set_level(logging.INFO, "bitsweep")
        metric = SensitivityMetric("psnr", make_psnr_eval_fn(float_of(cnn.model), cnn.feeds), False)
        first = analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path)
        assert analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path) == first
        assert "continued" in caplog.messages[0]

    def test_another_encoding_is_another_question(self, cnn, cnn_sim, calibrate, tmp_path):
        metric, calls = counted(cnn.feeds)
        analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path)
        num_calls = len(calls)
        other = calibrate(cnn, param_type="int4")
        changed = analyze_per_quantizer_sensitivity(other, metric, run_directory=tmp_path)
        assert len(calls) >= num_calls + len(other.param_names)
        assert changed == analyze_per_quantizer_sensitivity(other, metric)

    def test_a_failed_score_is_asked_for_again(self, cnn_sim, tmp_path):
        fails = [True]

        def eval_fn(session):
            if cnn_sim.qc_quantize_op_dict["conv1.weight"].enabled and fails[0]:
                return None
            return 1.0

        metric = SensitivityMetric("fails", eval_fn, identity="1")
        with pytest.warns(UserWarning, match='"conv1.weight" has no score'):
            analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path)
        fails[0] = False
        scores = analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path)
        assert scores["conv1.weight"] == 1.0

    def test_a_metric_whose_content_cannot_be_read_is_refused(self, cnn, cnn_sim, tmp_path):
        samples = (f for f in cnn.feeds)
        metric = SensitivityMetric("sum", lambda session: len(list(samples)))
        with pytest.raises(ValueError, match=r"eval_fn\.samples is a generator.*identity="):
            analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path)
        assert analyze_per_quantizer_sensitivity(cnn_sim, metric)

    def test_second_process_is_told(self, cnn, cnn_sim, tmp_path):
        metric, _ = counted(cnn.feeds)
        refused = []

        def nested(progress):
            with pytest.raises(RuntimeError, match="in use by another sweep") as e:
                analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path)
            refused.append(e)
            return True

        analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path, progress=nested)
        assert refused

    def test_full_disk_costs_the_journal_and_not_the_sweep(self, cnn, cnn_sim, tmp_path):
        resource = pytest.importorskip("resource")
        metric, _ = counted(cnn.feeds)
        wanted = analyze_per_quantizer_sensitivity(cnn_sim, metric)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (36_000, before[1]))
        try:
            with pytest.warns(UserWarning, match="cannot be written.*went on without it"):
                scores = analyze_per_quantizer_sensitivity(cnn_sim, metric, run_directory=tmp_path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)
        assert scores == wanted


KILLED = """
import logging, os, signal, sys
logging.basicConfig(level=logging.INFO)
import models
from bitsweep.analysis import SensitivityMetric, analyze_per_quantizer_sensitivity
from sessions import calibrated

example = models.cnn()
sim = calibrated(example)
kill_after = int(sys.argv[2])
state = {"calls": 0}

def total(session):
    return float(sum(session.run(None, f)[0].sum() for f in example.feeds))

class Metric:
    def __init__(self, feeds):
        self.feeds = feeds
    def __call__(self, session):
        return total(session)

def report(progress):
    print(progress.done)
    if progress.done == kill_after:
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)

metric = SensitivityMetric("sum", Metric(example.feeds))
scores = analyze_per_quantizer_sensitivity(sim, metric, run_directory=sys.argv[1], progress=report)
print(scores)
"""


def test_after_a_kill_the_next_process_continues(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(KILLED)
    path = os.pathsep.join(p for p in sys.path if p)

    def run(kill_after):
        # Hashes of strings differ from process to process on purpose.
        return subprocess.run(
            [sys.executable, script, tmp_path / "run", str(kill_after)],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": path, "PYTHONHASHSEED": str(kill_after + 1)},
        )

    killed = run(3)
    assert killed.returncode == -signal.SIGKILL
    second = run(-1)
    assert second.returncode == 0, second.stderr
    assert "continued: 3 of " in second.stderr
    example = models.cnn()
    metric, _ = counted(example.feeds)
    cold = analyze_per_quantizer_sensitivity(calibrated(example), metric)
    assert second.stdout.splitlines()[-1] == str(cold)


def made(source: str, **variables):
    """Function `f` of a module of the user's own."""
    module = types.ModuleType("of_the_user")
    vars(module).update(variables)
    exec(source, vars(module))
    return module.f


# No two of these answer the same question.
DIFFERENT = [
    ("def f(s): return 2", {}),
    ("def f(s, k=2): return 1", {}),
    ("def f(s): return helper(s)\ndef helper(s): return 1", {}),
    ("def f(s): return helper(s)\ndef helper(s): return 2", {}),
    ("def f(s): return [helper(x) for x in s]\ndef helper(s): return 2", {}),
    ("def f(s): return w", {"w": 1}),
    ("def f(s): return w", {"w": 1.0}),
    ("def f(s): return w", {"w": [1]}),
    ("def f(s): return w", {"w": np.ones(2)}),
    ("def f(s): return w", {"w": np.ones(2, np.float32)}),
    ("def f(s): return w", {"w": np.ones((2, 1))}),
    ("def f(s): return w", {"w": {"a": 1}}),
    ("def f(s): return w", {"w": {"a": 2}}),
    ("class A:\n  k = 1\n  def g(self): return 1\ndef f(s): return A().g()", {}),
    ("class A:\n  k = 1\n  def g(self): return 2\ndef f(s): return A().g()", {}),
    ("class A:\n  k = 2\n  def g(self): return 2\ndef f(s): return A().g()", {}),
    ("import functools\nf = functools.partial(max, 1)", {}),
    ("import functools\nf = functools.partial(max, 2)", {}),
    ("import functools\nf = functools.partial(min, 2)", {}),
    ("def g(k):\n  return lambda s: k\nf = g(1)", {}),
    ("def g(k):\n  return lambda s: k\nf = g(2)", {}),
    ("class A:\n  def __init__(self, k): self.k = k\nf = A(1)", {}),
    ("class A:\n  def __init__(self, k): self.k = k\nf = A(2)", {}),
    ("import functools\n@functools.cache\ndef f(s): return 1", {}),
    ("import functools\n@functools.cache\ndef f(s): return 2", {}),
]


class TestFingerprint:
    def test_is_equal_for_equal_content(self):
        source = (
            "def f(s, k=2):\n    return helper(s) + k + len({'a', 'b'})\ndef helper(s): return 1"
        )
        array = np.arange(3.0)
        assert fingerprint(made(source, w=array), "f") == fingerprint(
            made(source, w=array.copy()), "f"
        )

    def test_differs_for_other_content(self):
        hashes = {fingerprint(made(source, **variables), "f") for source, variables in DIFFERENT}
        assert len(hashes) == len(DIFFERENT)

    def test_sees_the_users_own_modules_through_imports_inside_functions(self, monkeypatch):
        hashes = set()
        for answer in (1, 2):
            module = types.ModuleType("scores_of_the_user")
            exec(f"def score(s): return {answer}", vars(module))
            monkeypatch.setitem(sys.modules, "scores_of_the_user", module)
            inside = made("def f(s):\n  import scores_of_the_user as m\n  return m.score(s)")
            outside = made("def f(s): return m.score(s)", m=module)
            hashes |= {fingerprint(inside, "f"), fingerprint(outside, "f")}
        assert len(hashes) == 4

    def test_takes_sessions_and_simulations_by_their_models(
        self, cnn, cnn_sim, float_of, calibrate
    ):
        def question(session, sim):
            return fingerprint(lambda s: (session, sim), "f")

        session = float_of(cnn.model)
        same = question(session, cnn_sim)
        assert question(float_of(cnn.model), calibrate(cnn)) == same
        assert question(session, calibrate(cnn, param_type="int4")) != same

    def test_names_what_it_cannot_read(self):
        lock = threading.Lock()
        with pytest.raises(ValueError, match=r"f\.held\[0\] is a lock"):
            fingerprint(made("def f(s): return held", held=[lock]), "f")

    def test_functions_of_packages_count_by_version(self):
        assert fingerprint(functools.partial(np.mean, axis=0), "f") != fingerprint(
            functools.partial(np.sum, axis=0), "f"
        )
