"""Constants that are not initializers."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper

from situations import build, node, normal, rows, samples, simulate


# G12
def test_weight_and_bias_behind_a_cast():
    model = build(
        [
            node("Cast", ["Wh"], ["W"], to=TensorProto.FLOAT),
            node("Cast", ["bh"], ["b"], to=TensorProto.FLOAT),
            node("Conv", ["x", "W", "b"], ["y"]),
        ],
        {"x": [1, 3, 8, 8]},
        {"Wh": normal(4, 3, 3, 3).astype(np.float16), "bh": normal(4).astype(np.float16)},
    )
    report = rows(simulate(model, samples(x=[1, 3, 8, 8])))
    assert report["W"].status == "quantized" or report["Wh"].status == "quantized"


# G13
@pytest.mark.parametrize(
    "constant", [{"value": numpy_helper.from_array(np.float32(2))}, {"value_float": 2.0}]
)
def test_a_constant_exponent_with_two_readers(constant):
    model = build(
        [
            node("Constant", [], ["c"], **constant),
            node("Pow", ["x", "c"], ["p1"]),
            node("ReduceMean", ["p1"], ["m1"], axes=[-1]),
            node("Pow", ["m1", "c"], ["p2"]),
            node("MatMul", ["p2", "W"], ["y"]),
        ],
        {"x": [1, 4, 16]},
        {"W": normal(1, 3)},
    )
    sim = simulate(model, samples(x=[1, 4, 16]))
    # As in the reference, a constant operand counts as an activation: listed once, its own quantizer.
    assert rows(sim)["c"].reason
    encoding = sim.qc_quantize_op_dict["c"].get_encodings()[0]
    assert encoding.max == pytest.approx(2, abs=encoding.delta)
