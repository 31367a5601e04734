"""Models and weights in other float types than float32."""

from __future__ import annotations

import numpy as np
import pytest
from ml_dtypes import bfloat16
from onnx import TensorProto

import bitsweep
from bitsweep.errors import Error
from sessions import ONE_THREAD
from situations import build, node, normal, rows, samples, simulate


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


# Models that are half or bfloat16 all through: types, widths and outputs stay
@pytest.mark.parametrize("bits", [4, 8, 16])
@pytest.mark.parametrize(("dtype", "element"), [
    (np.float16, TensorProto.FLOAT16), (np.float32, TensorProto.FLOAT),
])  # fmt: skip
@pytest.mark.parametrize(
    ("layer", "weights", "x"),
    [
        (node("Conv", ["x", "W", "b"], ["h"]), {"W": (4, 3, 3, 3), "b": (4,)}, (1, 3, 8, 8)),
        (node("ConvTranspose", ["x", "W"], ["h"]), {"W": (3, 4, 2, 2)}, (1, 3, 4, 4)),
        (node("Gemm", ["x", "W", "b"], ["h"]), {"W": (8, 4), "b": (4,)}, (2, 8)),
        (node("MatMul", ["x", "W"], ["h"]), {"W": (8, 4)}, (2, 3, 8)),
        (node("LayerNormalization", ["x", "W", "b"], ["h"]), {"W": (8,), "b": (8,)}, (2, 8)),
        (node("Mul", ["x", "W"], ["h"]), {"W": (8,)}, (2, 8)),
        (node("PRelu", ["x", "W"], ["h"]), {"W": (8,)}, (2, 8)),
    ],
    ids=lambda v: getattr(v, "op_type", None),
)
def test_every_layer_keeps_the_type_of_its_model(layer, weights, x, dtype, element, bits):
    model = build(
        [layer, node("Relu", ["h"], ["y"])],
        {"x": x},
        {n: (normal(*shape) * 0.5).astype(dtype) for n, shape in weights.items()},
        opset=19,
        input_types={"x": element},
        output_type=element,
    )
    feeds = [{"x": normal(*x).astype(dtype)} for _ in range(2)]
    sim = simulate(model, feeds, param_type=f"int{bits}", activation_type=f"int{bits}")
    assert sim.session.run(None, feeds[0])[0].dtype == dtype
    report = rows(sim)
    assert all(report[t].status in ("quantized", "tied") for t in ("x", "W", "y"))


def test_bfloat16_inside_a_float_model_is_quantized_as_numbers():
    weight = normal(4, 3).astype(bfloat16)
    model = build(
        [
            node("Cast", ["x"], ["xb"], to=TensorProto.BFLOAT16),
            node("Cast", ["w"], ["wf"], to=TensorProto.FLOAT),
            node("Cast", ["xb"], ["xf"], to=TensorProto.FLOAT),
            node("MatMul", ["xf", "wf"], ["y"]),
        ],
        {"x": [2, 4]},
        {"w": weight},
    )
    sim = simulate(model, samples(x=[2, 4]))
    (encoding,) = sim.qc_quantize_op_dict["w"].get_encodings()[:1]
    largest = np.abs(weight.astype(np.float32)).max()
    assert encoding.max <= largest * 1.01
    assert rows(sim)["w"].status == "quantized"


def test_double_tensors_stay_as_they_are_and_are_listed():
    model = build(
        [node("MatMul", ["x", "W"], ["y"]), node("Cast", ["y"], ["z"], to=TensorProto.FLOAT)],
        {"x": [2, 4]},
        {"W": normal(4, 3).astype(np.float64)},
        ["y", "z"],
        input_types={"x": TensorProto.DOUBLE},
        output_type=TensorProto.DOUBLE,
    )
    sim = simulate(model, [{"x": normal(2, 4).astype(np.float64)}])
    for tensor in ("x", "W", "y"):
        assert rows(sim)[tensor].reason == "no quantizer for float64 values"


@pytest.mark.parametrize("bits", [4, 8, 16])
@pytest.mark.parametrize(
    ("layers", "weights"),
    [
        ([node("LayerNormalization", ["x", "g", "b"], ["y"])], {"g": (8,), "b": (8,)}),
        (
            [
                node("LayerNormalization", ["x", "g"], ["n"]),
                node("Transpose", ["n"], ["t"], perm=[0, 2, 1]),
                node("LayerNormalization", ["t", "h"], ["y"]),
            ],
            {"g": (8,), "h": (2,)},
        ),
        ([node("Flatten", ["x"], ["y"])], {}),
    ],
    ids=["norm", "norms", "data movement"],
)
def test_a_bfloat16_model_stays_bfloat16(layers, weights, bits):
    model = build(
        layers,
        {"x": (3, 2, 8)},
        {name: normal(*shape).astype(bfloat16) for name, shape in weights.items()},
        opset=21,
        input_types={"x": TensorProto.BFLOAT16},
        output_type=TensorProto.BFLOAT16,
        checked=False,  # the output of the runtime has no NumPy type
    )
    feeds = [{"x": normal(3, 2, 8).astype(bfloat16)} for _ in range(3)]
    sim = bitsweep.QuantizationSimModel(
        model, param_type="int8", activation_type=f"int{bits}", session_options_kwargs=ONE_THREAD
    )
    sim.compute_encodings(feeds)
    report = rows(sim)
    assert all(report[t].status == "quantized" for t in ("x", *weights) if t != "b")
    (out,) = sim.session.run(None, feeds[0])
    assert out.dtype == bfloat16
    if not weights:
        # Every value lies on the grid of its range, up to the rounding to bfloat16.
        assert len(np.unique(out)) <= 2**bits
        step = sim.qc_quantize_op_dict["x"].get_encodings()[0].delta
        flat = feeds[0]["x"].reshape(3, 16)
        error = np.abs(out.astype(np.float32) - flat.astype(np.float32))
        assert error.max() <= step / 2 + np.abs(flat.astype(np.float32)).max() * 2**-8


def test_a_bfloat16_layer_without_a_kernel_is_refused_in_one_sentence():
    model = build(
        [node("MatMul", ["x", "W"], ["y"], name="product")],
        {"x": [1, 4]},
        {"W": normal(4, 2).astype(bfloat16)},
        input_types={"x": TensorProto.BFLOAT16},
        output_type=TensorProto.BFLOAT16,
        checked=False,
    )
    with pytest.raises(Error, match=r"MatMul.*'product'.*; check that"):
        simulate(model, [{"x": normal(1, 4).astype(bfloat16)}])


# Only the scale of a bias, written as a half, asks for wider steps of the weight
@pytest.mark.parametrize("bias", [False, True])
def test_steps_of_half_weights_are_widened_for_a_bias_only(bias):
    weight = normal(8, 8).astype(np.float16)
    model = build(
        [node("Gemm", ["x", "W", "b"] if bias else ["x", "W"], ["y"])],
        {"x": [1, 8]},
        {"W": weight, **({"b": normal(8).astype(np.float16)} if bias else {})},
        opset=19,
        input_types={"x": TensorProto.FLOAT16},
        output_type=TensorProto.FLOAT16,
    )
    feeds = [{"x": np.linspace(-4, 4, 8, dtype=np.float16).reshape(1, 8)}]
    sim = simulate(model, feeds, activation_type="int16")
    step = sim.qc_quantize_op_dict["W"].get_encodings()[0].delta
    input_step = sim.qc_quantize_op_dict["x"].get_encodings()[0].delta
    floor = float(np.finfo(np.float16).tiny) / input_step
    if bias:
        np.testing.assert_allclose(step, floor, rtol=1e-6)
    else:
        assert step < float(np.abs(weight).max()) / 100 < floor
