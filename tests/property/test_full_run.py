"""The reference is right on cases that can be worked out by hand."""

import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parent))

import full_run
from full_run import Grid


def run(model, x):
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})


def model(nodes, outputs, weights=None):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


HALVES = Grid(np.array([0.5]), np.array([-2.0]), 2, None)  # -1, -0.5, 0, 0.5


def test_rounds_an_input_for_all_its_readers_and_saturates():
    m = model(
        [helper.make_node("Identity", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])],
        ["a", "b"],
    )
    a, b = run(full_run.simulate(m, {"x": HALVES}), np.array([[0.3, 7.0]], np.float32))
    np.testing.assert_array_equal(a, [[0.5, 0.5]])
    np.testing.assert_array_equal(b, [[-0.5, -0.5]])


def test_rounds_a_tensor_that_is_read_and_also_an_output():
    m = model(
        [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["b"])], ["a", "b"]
    )
    a, b = run(full_run.simulate(m, {"a": HALVES}), np.array([[0.3, 7.0]], np.float32))
    np.testing.assert_array_equal(a, [[-0.5, -1.0]])
    np.testing.assert_array_equal(b, [[0.5, 1.0]])


@pytest.mark.parametrize(("value", "expected"), [(0.25, 0.5), (-0.25, 0.0), (-0.75, -0.5)])
def test_ties_go_up_on_both_sides_of_zero(value, expected):
    m = model([helper.make_node("Identity", ["x"], ["a"])], ["a"])
    (a,) = run(full_run.simulate(m, {"a": HALVES}), np.full((1, 2), value, np.float32))
    np.testing.assert_array_equal(a, [[expected, expected]])


def test_rounds_a_weight_channel_by_channel():
    weight = np.array([[0.3, 0.3], [3.0, 3.0]], np.float32)
    m = model([helper.make_node("MatMul", ["x", "w"], ["a"])], ["a"], {"w": weight})
    grid = Grid(np.array([0.5, 2.0]), np.array([-2.0, -2.0]), 2, 0)
    (a,) = run(full_run.simulate(m, {"w": grid}), np.array([[1.0, 10.0]], np.float32))
    # 0.3 -> 0.5 on the first grid; 3.0 -> 2.0, the last step of the second.
    np.testing.assert_allclose(a, [[20.5, 20.5]], rtol=1e-6)


def test_psnr_stacks_samples_and_takes_the_worst_output():
    m = model(
        [helper.make_node("Identity", ["x"], ["a"]), helper.make_node("Neg", ["x"], ["b"])],
        ["a", "b"],
    )
    feeds = [{"x": np.array([[0.5, -1.0]], np.float32)}, {"x": np.array([[0.5, 0.25]], np.float32)}]
    full = full_run.FullRun(m, feeds)
    assert full.psnr_db({}) == full_run.MAX_DB
    # One of four values is off by 0.25: rms 0.125, range 1.5. Output b reads x unrounded and is exact.
    assert full.psnr_db({"a": HALVES}) == pytest.approx(20 * np.log10(1.5 / 0.125))


def test_the_model_given_stays_as_it_is():
    m = model([helper.make_node("Neg", ["x"], ["a"])], ["a"])
    before = m.SerializeToString()
    full_run.simulate(m, {"x": HALVES, "a": HALVES})
    assert m.SerializeToString() == before
