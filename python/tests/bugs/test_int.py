"""Integer tensors among float ones."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from situations import build, node, normal, samples, simulate


# G22
def test_shape_arithmetic_gets_no_quantizers():
    model = build(
        [
            node("Shape", ["x"], ["s"]),
            node("Gather", ["s", "zero"], ["n"]),
            node("Concat", ["n", "rest"], ["shape"], axis=0),
            node("Reshape", ["x", "shape"], ["r"]),
            node("MatMul", ["r", "W"], ["y"]),
        ],
        {"x": ["n", 4, 4]},
        {"zero": np.array([0]), "rest": np.array([-1]), "W": normal(16, 4)},
    )
    sim = simulate(model, samples(x=[2, 4, 4]))
    for tensor in ("s", "n", "shape", "zero", "rest"):
        assert tensor not in sim.qc_quantize_op_dict, tensor
    assert sim.qc_quantize_op_dict["W"].enabled


# Whatever is no floating-point number: runs as before, has no quantizer, is not swept
@pytest.mark.parametrize("element", ["int8", "uint8", "int16", "int32", "int64", "bool"])
@pytest.mark.parametrize("place", ["input", "initializer", "constant"])
def test_integers_pass_between_float_operators(element, place):
    dtype = np.dtype(element)
    value = np.array([1, 0, 1, 1]).astype(dtype)
    kind = helper.np_dtype_to_tensor_dtype(dtype)
    nodes = [
        node("Cast", ["mask"], ["m"], to=TensorProto.FLOAT),
        node("Mul", ["x", "m"], ["masked"]),
        node("Cast", ["masked"], ["as_int"], to=TensorProto.INT32),
        node("Cast", ["as_int"], ["back"], to=TensorProto.FLOAT),
        node("MatMul", ["back", "W"], ["y"]),
    ]
    inputs, weights, types = {"x": [2, 4]}, {"W": normal(4, 3)}, {}
    feeds = [{"x": normal(2, 4) * 9} for _ in range(2)]
    if place == "input":
        inputs["mask"], types = [4], {"mask": kind}
        feeds = [{**feed, "mask": value} for feed in feeds]
    elif place == "initializer":
        weights["mask"] = value
    else:
        made = node("Constant", [], ["mask"], value=numpy_helper.from_array(value))
        nodes.insert(0, made)
    model = build(nodes, inputs, weights, input_types=types)
    sim = simulate(model, feeds)
    assert not {"mask", "as_int"} & set(sim.qc_quantize_op_dict)
    assert sim.qc_quantize_op_dict["W"].enabled
