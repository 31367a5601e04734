"""bitsweep prepare: rewritten models compute the same, and the record says what was done."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from cli_support import Run
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture
def norm_net(tmp_path: Path) -> Path:
    """x -> Conv -> BatchNormalization -> Relu -> Conv -> y."""
    random = np.random.default_rng(3)
    shapes = {"w0": (4, 3, 3, 3), "w1": (2, 4, 1, 1), "g": (4,), "b": (4,), "m": (4,)}
    weights = {k: random.standard_normal(s).astype(np.float32) for k, s in shapes.items()}
    weights["v"] = np.array([0.5, 1, 2, 3], np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", ["x", "w0"], ["c"], name="c0", group=1),
            helper.make_node("BatchNormalization", ["c", "g", "b", "m", "v"], ["n"], name="bn"),
            helper.make_node("Relu", ["n"], ["r"], name="relu"),
            helper.make_node("Conv", ["r", "w1"], ["y"], name="c1", group=1),
        ],
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 6, 6])],
        [numpy_helper.from_array(v, k) for k, v in weights.items()],
    )
    path = tmp_path / "net.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return path


def output(path: Path) -> np.ndarray:
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)
    return ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


def test_equalized_model_computes_the_same(run: Run, norm_net: Path, tmp_path: Path) -> None:
    before = norm_net.read_bytes()
    out = tmp_path / "out.onnx"
    result = run("prepare", norm_net, "--fold-batch-norms", "--equalize", "-o", out, "--json")
    assert result.returncode == 0, result.stderr
    record = json.loads(result.stdout)
    assert record["folded"] == [{"batch_norm": "bn", "layer": "c0"}]
    assert [(e["first"], e["second"]) for e in record["equalized"]] == [("c0", "c1")]
    assert record["kept"] == record["copies"] == []
    np.testing.assert_allclose(output(out), output(norm_net), rtol=0, atol=1e-4)
    assert norm_net.read_bytes() == before


def test_the_table_names_what_was_folded(run: Run, norm_net: Path, tmp_path: Path) -> None:
    result = run("prepare", norm_net, "--fold-batch-norms", "-o", tmp_path / "out.onnx")
    assert "became part of c0" in result.stdout
    assert "BatchNormalization" not in {
        n.op_type for n in onnx.load(tmp_path / "out.onnx").graph.node
    }


def test_without_a_pass_it_is_refused(run: Run, norm_net: Path, tmp_path: Path) -> None:
    result = run("prepare", norm_net, "-o", tmp_path / "out.onnx")
    assert result.returncode == 2
    assert "no pass is chosen" in result.stderr
    assert not (tmp_path / "out.onnx").exists()
