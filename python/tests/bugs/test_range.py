"""Ranges that are empty, tiny or on one side of zero."""

from __future__ import annotations

import numpy as np
import pytest

import bitsweep
from sessions import float_session
from situations import PER_CHANNEL, SCHEMES, build, node, normal, rows, samples, simulate


# G16: nothing but zeros
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_zeros_stay_zeros(scheme, symmetric):
    weights = {"w": np.zeros((4, 3, 1, 1), np.float32), "zero": np.zeros(1, np.float32)}
    model = build(
        [node("Conv", ["x", "w"], ["c"]), node("Mul", ["x", "zero"], ["m"])],
        {"x": [1, 3, 4, 4]},
        weights,
        ["c", "m"],
    )
    sim = bitsweep.QuantizationSimModel(model, quant_scheme=scheme)
    for quantizer in sim.qc_quantize_op_dict.values():
        quantizer.use_symmetric_encodings = symmetric
    sim.compute_encodings(samples(2, x=[1, 3, 4, 4]))
    for name in ("w", "m", "c"):
        for e in sim.qc_quantize_op_dict[name].get_encodings():
            assert np.isfinite([e.min, e.max, e.delta]).all()
            assert e.delta > 0
            assert e.offset == int(e.offset)
            assert -(2**e.bw) < e.offset <= 0
    for output in sim.session.run(None, samples(1, x=[1, 3, 4, 4])[0]):
        assert not output.any()


# G17: a weight scale so small that the bias does not fit into 32 bits
@pytest.mark.parametrize(("largest", "widened"), [(127.5, False), (0.01, True)])
def test_a_tiny_weight_scale_is_widened_until_the_bias_fits_and_says_so(largest, widened):
    weights = {
        "w": np.full((2, 1, 1, 1), 1e-7, np.float32),
        "b": np.array([3, -2], np.float32),
    }
    model = build([node("Conv", ["x", "w", "b"], ["y"])], {"x": [1, 1, 8, 8]}, weights)
    feeds = [{"x": np.linspace(0, largest, 64, dtype=np.float32).reshape(1, 1, 8, 8)}]
    sim = simulate(model, feeds)
    step = sim.qc_quantize_op_dict["x"].get_encodings()[0].delta
    scales = [e.delta for e in sim.qc_quantize_op_dict["w"].get_encodings()]
    if len(scales) == 1:
        scales *= 2
    for scale, bias in zip(scales, weights["b"], strict=True):
        assert abs(bias) / (step * scale) < 2**31
    assert ("fits 32 bits" in rows(sim)["w"].reason) == widened
    wanted = 1e-7 * feeds[0]["x"] + weights["b"].reshape(1, 2, 1, 1)
    np.testing.assert_allclose(sim.session.run(None, feeds[0])[0], wanted, rtol=0.01)


@pytest.mark.parametrize("bits", [20, 24, 28, 32])
def test_wide_activations_leave_the_weight_scales_alone(bits):
    # No kernel has 32-bit sums of such values: a scale that held the bias would round the weights away.
    weights = {"w": normal(4, 3, 1, 1), "b": normal(4)}
    model = build([node("Conv", ["x", "w", "b"], ["y"])], {"x": [1, 3, 4, 4]}, weights)
    feeds = samples(x=[1, 3, 4, 4])
    deltas = {}
    for width in (8, bits):
        sim = simulate(model, feeds, activation_type=f"int{width}")
        deltas[width] = [e.delta for e in sim.qc_quantize_op_dict["w"].get_encodings()]
    assert deltas[8] == deltas[bits]
    plain = float_session(model).run(None, feeds[0])[0]
    np.testing.assert_allclose(sim.session.run(None, feeds[0])[0], plain, atol=0.05)


# G18: symmetric grids without a sign
@pytest.mark.parametrize("bits", [2, 4, 8, 16])
def test_symmetric_codes_have_their_zero_in_the_middle(bits):
    model = build([node("MatMul", ["x", "w"], ["y"])], {"x": [1, 5]}, {"w": normal(5, 4)})
    x = np.array([[-2, -1, 0, 1, 2]], np.float32)
    sim = bitsweep.QuantizationSimModel(model, activation_type=f"int{bits}")
    sim.qc_quantize_op_dict["x"].use_symmetric_encodings = True
    sim.compute_encodings([{"x": x}])
    (encoding,) = sim.qc_quantize_op_dict["x"].get_encodings()
    assert encoding.offset == -(2 ** (bits - 1))
    zeros = np.zeros((1, 5), np.float32)
    assert not sim.qc_quantize_op_dict["x"].quantize_dequantize(zeros).any()


@pytest.mark.parametrize(
    ("nodes", "weight", "bias", "channels"),
    [
        # A product that is no Gemm, and an Add: the target runs them together.
        (["MatMul", "Add"], (1, 4, 3), (3,), 3),
        (["MatMul", "Add"], (4, 3), (3,), 3),
        # What is broadcast reaches every channel.
        (["Gemm"], (4, 3), (1,), 3),
        (["Gemm"], (4, 3), (2, 3), 3),
        (["Gemm"], (4, 3), (2, 1), 3),
    ],
    ids=str,
)
def test_weight_scales_hold_biases_of_every_shape(nodes, weight, bias, channels):
    rank = len(weight)
    rows_shape = (1,) * (rank - 2) + (2, 4)
    values = np.full(bias, 1e4, np.float32)
    body = (
        [node("Gemm", ["x", "w", "b"], ["y"])]
        if nodes == ["Gemm"]
        else [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["y"])]
    )
    model = build(body, {"x": rows_shape}, {"w": normal(*weight) * np.float32(1e-3), "b": values})
    sim = simulate(
        model,
        [{"x": normal(*rows_shape) * np.float32(1e-3)}],
        config_file=PER_CHANNEL,
        param_type="int16",
        activation_type="int16",
    )
    step = sim.qc_quantize_op_dict["x"].get_encodings()[0].delta
    scales = [e.delta for e in sim.qc_quantize_op_dict["w"].get_encodings()]
    assert len(scales) == channels
    for scale in scales:
        assert 1e4 / (step * scale) <= 2**31
    assert "fits 32 bits" in rows(sim)["w"].reason
