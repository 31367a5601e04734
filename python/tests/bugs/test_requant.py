"""Models that carry quantizers already."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from bitsweep.errors import Error
from situations import build, node, normal, rows, samples, simulate


# G45
def test_a_quantized_model_is_refused_in_one_sentence():
    model = build(
        [
            node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            node("DequantizeLinear", ["q", "s", "z"], ["d"]),
            node("MatMul", ["d", "W"], ["y"]),
        ],
        {"x": [1, 8]},
        {"s": np.array(0.1, np.float32), "z": np.array(0, np.uint8), "W": normal(8, 4)},
    )
    with pytest.raises(Error) as refused:
        bitsweep.QuantizationSimModel(model)
    assert "QuantizeLinear" in str(refused.value)
    assert "\n" not in str(refused.value)


# What holds integers for another reason is no quantized model: it runs, its float tensors are listed
def test_scales_that_are_computed_are_part_of_the_model():
    model = build(
        [
            node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
            node("DequantizeLinear", ["q", "s", "z"], ["d"]),
            node("MatMul", ["d", "W"], ["y"]),
        ],
        {"x": [2, 8]},
        {"W": normal(8, 4)},
    )
    sim = simulate(model, samples(x=[2, 8]))
    assert "q" not in sim.qc_quantize_op_dict
    assert rows(sim)["W"].status == "quantized"


@pytest.mark.parametrize("opset", [10, 13, 21])
@pytest.mark.parametrize("element", [np.uint8, np.int8])
def test_a_single_pair_anywhere_is_refused_with_the_way_out(opset, element):
    model = build(
        [
            node("MatMul", ["x", "W"], ["m"]),
            node("QuantizeLinear", ["m", "s", "z"], ["q"], name="pair"),
            node("DequantizeLinear", ["q", "s", "z"], ["y"]),
        ],
        {"x": [1, 8]},
        {"s": np.array(0.1, np.float32), "z": np.array(3, element), "W": normal(8, 4)},
        opset=opset,
    )
    with pytest.raises(Error, match="from_onnx_qdq") as refused:
        bitsweep.QuantizationSimModel(model)
    assert "pair" in str(refused.value)
    sim = bitsweep.QuantizationSimModel.from_onnx_qdq(model)
    (encoding,) = sim.qc_quantize_op_dict["y"].get_encodings()
    assert encoding.delta == pytest.approx(0.1)


def test_a_file_of_this_tool_is_read_back_and_never_doubled():
    model = build([node("MatMul", ["x", "W"], ["y"])], {"x": [1, 8]}, {"W": normal(8, 4)})
    feeds = samples(x=[1, 8])
    sim = simulate(model, feeds)
    exported = sim.to_onnx_qdq()
    with pytest.raises(Error):
        bitsweep.QuantizationSimModel(exported)
    again = bitsweep.QuantizationSimModel.from_onnx_qdq(exported)
    np.testing.assert_array_equal(
        sim.session.run(None, feeds[0])[0], again.session.run(None, feeds[0])[0]
    )
