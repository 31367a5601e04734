"""Integer tensors among float ones."""

from __future__ import annotations

import numpy as np

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
