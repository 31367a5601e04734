"""Models and weights in other float types than float32."""

from __future__ import annotations

import numpy as np
from ml_dtypes import bfloat16
from onnx import TensorProto

from situations import build, node, normal, rows, simulate


# G14
def test_a_half_model_stays_half():
    model = build(
        [node("MatMul", ["x", "W"], ["y"])],
        {"x": [1, 16]},
        {"W": normal(16, 8).astype(np.float16)},
        opset=19,
        input_types={"x": TensorProto.FLOAT16},
        output_type=TensorProto.FLOAT16,
    )
    feeds = [{"x": normal(1, 16).astype(np.float16)} for _ in range(4)]
    sim = simulate(model, feeds)
    assert sim.session.run(None, feeds[0])[0].dtype == np.float16
    assert all(rows(sim)[t].status == "quantized" for t in ("x", "W", "y"))


# G15
def test_bfloat16_initializers_are_read_as_numbers():
    values = np.array([1.5, -2, 0, 3], np.float32)
    model = build(
        [node("Cast", ["w"], ["f"], to=TensorProto.FLOAT), node("Mul", ["x", "f"], ["y"])],
        {"x": [1, 4]},
        {"w": values.astype(bfloat16)},
    )
    assert model.graph.initializer[0].data_type == TensorProto.BFLOAT16
    feeds = [{"x": np.ones((1, 4), np.float32)}]
    sim = simulate(model, feeds)
    np.testing.assert_allclose(sim.session.run(None, feeds[0])[0], [values], atol=3 / 255 * 2)
