"""The node tests that the package onnx brings, driven through the simulation.

For each: build, look whether every tensor is accounted for, calibrate on the inputs of the test, run with all quantizers
on, then with all off. All off must give what a plain session of ONNX Runtime gives, to the last bit.

    python tests/onnx_nodes/node_cases.py [--name PATTERN] [--write docs/onnx_nodes.md]
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import fnmatch
import functools
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort

import bitsweep

sys.path.append(str(Path(__file__).parents[2] / "python" / "tests"))
from accounting import FLOATS, unaccounted

ONE_THREAD = {"intra_op_num_threads": 1}


@dataclass(frozen=True)
class Case:
    """A model of one node with its inputs."""

    name: str
    model: onnx.ModelProto
    feed: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What became of a case.

    Attributes
    ----------
    status : str
        "passed"; "refused": neither runtime nor simulation take it; "gap": only the simulation refuses it, with a
        sentence; "failed": anything else.
    sentence : str
        Of the simulation when refused, else what went wrong.
    """

    name: str
    op_type: str
    status: str
    sentence: str = ""


def _element_types(value: onnx.TypeProto) -> set[int]:
    kind = value.WhichOneof("value")
    if kind == "tensor_type":
        return {value.tensor_type.elem_type}
    if kind in ("sequence_type", "optional_type"):
        return _element_types(getattr(value, kind).elem_type)
    return set()


def has_floats(model: onnx.ModelProto) -> bool:
    """Whether an input or output is of a floating-point type."""
    graph = model.graph
    types = (_element_types(v.type) for v in [*graph.input, *graph.output])
    return any(found & FLOATS for found in types)


@functools.cache
def all_cases() -> tuple[Case, ...]:
    """Every node test with floating-point inputs or outputs."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = collect_testcases(None)
    cases = []
    for test in tests:
        if not has_floats(test.model):
            continue
        inputs, _ = test.data_sets[0]
        names = [value.name for value in test.model.graph.input]
        feed = {
            name: value if isinstance(value, list) else np.asarray(value)
            for name, value in zip(names, inputs, strict=True)
            if value is not None  # an optional input that the test leaves out
        }
        cases.append(Case(test.name, test.model, feed))
    return tuple(cases)


def plain_session(model: onnx.ModelProto) -> ort.InferenceSession:
    """ONNX Runtime with its own settings."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def _ort_value(array: np.ndarray) -> ort.OrtValue:
    """Also of the types that numpy borrows from ml_dtypes."""
    if array.dtype.isbuiltin == 1:
        return ort.OrtValue.ortvalue_from_numpy(array)
    carrier = array.copy(order="C").view(f"uint{8 * array.dtype.itemsize}")
    kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(carrier, kind)


def _array(value: ort.OrtValue) -> np.ndarray:
    if value.data_type() != "tensor(bfloat16)":
        return value.numpy()
    size = int(np.prod(value.shape()))
    buffer = (ctypes.c_uint16 * size).from_address(value.data_ptr())
    return np.array(buffer, np.uint16).view(ml_dtypes.bfloat16).reshape(value.shape())


def plain_run(session: ort.InferenceSession, feed: Mapping[str, Any]) -> list[Any]:
    """Outputs of ONNX Runtime, bfloat16 included, which its arrays cannot hold."""
    types = {arg.type for arg in [*session.get_inputs(), *session.get_outputs()]}
    if "tensor(bfloat16)" not in types:
        return session.run(None, dict(feed))
    values = {name: _ort_value(array) for name, array in feed.items()}
    return [_array(value) for value in session.run_with_ort_values(None, values)]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, list) or isinstance(b, list):
        return (
            isinstance(a, list)
            and isinstance(b, list)
            and len(a) == len(b)
            and all(_same(x, y) for x, y in zip(a, b, strict=True))
        )
    if a is None or b is None:
        return a is b
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()


def _layout(values: Sequence[Any]) -> list[Any]:
    return [(type(v), getattr(v, "dtype", None), getattr(v, "shape", None)) for v in values]


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())


def check(case: Case) -> Outcome:
    """Runs one case through ONNX Runtime and the simulation."""
    op_type = case.model.graph.node[0].op_type if case.model.graph.node else ""

    def outcome(status: str, sentence: str = "") -> Outcome:
        return Outcome(case.name, op_type, status, sentence)

    refusal, plain, again = "", [], []
    try:
        session = plain_session(case.model)
        plain = plain_run(session, case.feed)
        again = plain_run(session, case.feed)
    except Exception as error:  # the runtime has no common class for its refusals
        refusal = _one_line(error)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sim = bitsweep.QuantizationSimModel(case.model, session_options_kwargs=ONE_THREAD)
            wrong = unaccounted(case.model, sim.describe())
            sim.compute_encodings([case.feed])
        on = sim.session.run(None, case.feed)
        for quantizer in sim.qc_quantize_op_dict.values():
            quantizer.enabled = False
        off = sim.session.run(None, case.feed)
    except bitsweep.Error as error:
        return outcome("refused" if refusal else "gap", _one_line(error))
    except Exception as error:
        return outcome("failed", f"{type(error).__name__}: {_one_line(error)}")
    if refusal:
        return outcome("failed", f"simulated what ONNX Runtime refuses: {refusal}")
    if wrong:
        return outcome("failed", f"tensors: {wrong}")
    if _layout(on) != _layout(plain):
        return outcome("failed", f"all on: {_layout(on)} instead of {_layout(plain)}")
    if all(_same(a, b) for a, b in zip(plain, again, strict=True)):
        if not all(_same(a, b) for a, b in zip(off, plain, strict=True)):
            return outcome("failed", "all off differs from the plain run")
    elif _layout(off) != _layout(plain):  # random numbers: only their layout is the same
        return outcome("failed", f"all off: {_layout(off)} instead of {_layout(plain)}")
    return outcome("passed")


def outcomes(pattern: str = "*") -> Iterator[Outcome]:
    """Results of the cases whose name matches."""
    for case in all_cases():
        if fnmatch.fnmatch(case.name, pattern):
            yield check(case)


def kind_of(sentence: str) -> str:
    """A sentence without the names and numbers that differ from test to test."""
    for pattern, general in (
        (r"\bnode with name '[^']*'|\(node:'[^)]*\)", "node"),
        (r"Name:'[^']*'", "Name:'...'"),
        (r"outputs but \S+ did not", "outputs but ... did not"),
        (r'"[^"]*"', '"..."'),
    ):
        sentence = re.sub(pattern, general, sentence)
    return sentence


def listing(results: Sequence[Outcome]) -> str:
    """The page of docs that names every refusal."""
    count = collections.Counter(result.status for result in results)
    lines = [
        "# ONNX's own node tests",
        "",
        f"Written by `tests/onnx_nodes/node_cases.py --write` with onnx {onnx.__version__} and ONNX Runtime {ort.__version__}.",
        "",
        f"{len(results)} tests have floating-point inputs or outputs. Each is built, calibrated on its own inputs, run with all",
        "quantizers on, and with all off, which has to give the bits of a plain session.",
        "",
        f"* {count['passed']} pass.",
        f"* {count['refused']} are refused by ONNX Runtime too: it has no kernel for the operator or for its types.",
        f"* {count['gap']} are refused although ONNX Runtime runs them.",
    ]
    for status, title in (
        ("gap", "Refused although ONNX Runtime runs them"),
        ("refused", "Refused by ONNX Runtime too"),
    ):
        kinds = collections.defaultdict(list)
        for result in results:
            if result.status == status:
                kinds[kind_of(result.sentence)].append(result.name.removeprefix("test_"))
        if not kinds:
            continue
        lines += ["", f"## {title}", ""]
        for sentence, names in sorted(kinds.items()):
            lines += [f"* {sentence}", "", f"  {', '.join(sorted(names))}", ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", default="*", help="only tests whose name matches")
    parser.add_argument("--write", type=Path, help="write the list of refusals to this page")
    args = parser.parse_args()
    results = []
    for result in outcomes(args.name):
        results.append(result)
        if result.status in ("failed", "gap"):
            print(f"{result.status} {result.name}: {result.sentence}", flush=True)
    count = collections.Counter(result.status for result in results)
    print(", ".join(f"{count[s]} {s}" for s in ("passed", "refused", "gap", "failed")))
    if args.write:
        args.write.write_text(listing(results))
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
