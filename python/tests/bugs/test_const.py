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


# An output that no input reaches is simulated like the others, not computed once in float
@pytest.mark.parametrize("reaches_input", [False, True])
def test_quantizers_behind_constants_act_up_to_the_outputs(reaches_input):
    table, weight = normal(10, 4), normal(4, 4)
    last = node("Add", ["p", "x"], ["y"]) if reaches_input else node("Relu", ["p"], ["y"])
    model = build(
        [
            node("Gather", ["table", "rows"], ["e"], axis=0),
            node("MatMul", ["e", "W"], ["p"]),
            last,
            node("Neg", ["x"], ["z"]),
        ],
        {"x": [3, 4]},
        {"table": table, "W": weight, "rows": np.array([1, 5, 3])},
        ["y", "z"],
    )
    feeds = samples(x=[3, 4])
    sim = simulate(model, feeds, param_type="int4", activation_type="int4")
    assert sim.qc_quantize_op_dict["p"].get_encodings()
    q = {n: sim.qc_quantize_op_dict[n].quantize_dequantize for n in ("table", "W", "p", "y", "x")}
    product = q["p"](q["table"](table)[[1, 5, 3]] @ q["W"](weight))
    if reaches_input:
        wanted = q["y"](product + q["x"](feeds[0]["x"]))
    else:
        wanted = q["y"](np.maximum(product, 0))
    np.testing.assert_allclose(sim.session.run(None, feeds[0])[0], wanted, atol=1e-5)


# A weight in every form that exporters write
def as_initializer(value):
    return [], {"W": value}


def as_constant(value):
    return [node("Constant", [], ["W"], value=numpy_helper.from_array(value))], {}


def as_default_of_an_input(value):
    return "input", {"W": value}


def behind_a_transpose(value):
    turned = np.ascontiguousarray(np.moveaxis(value, 0, -1))
    perm = [value.ndim - 1, *range(value.ndim - 1)]
    return [node("Transpose", ["V"], ["W"], perm=perm)], {"V": turned}


def behind_an_identity(value):
    return [node("Identity", ["V"], ["V1"]), node("Identity", ["V1"], ["W"])], {"V": value}


def behind_a_reshape(value):
    shape = np.array(value.shape)
    return [node("Reshape", ["V", "shape"], ["W"])], {"V": value.reshape(-1), "shape": shape}


def behind_a_cast(value):
    cast = node("Cast", ["V"], ["W"], to=TensorProto.FLOAT)
    return [cast], {"V": value.astype(np.float16)}


def behind_an_unsqueeze(value):
    return [node("Unsqueeze", ["V", "first"], ["V1"]), node("Squeeze", ["V1", "first"], ["W"])], {
        "V": value,
        "first": np.array([0]),
    }


def made_of_two_halves(value):
    half = len(value) // 2
    return [node("Concat", ["A", "B"], ["W"], axis=0)], {"A": value[:half], "B": value[half:]}


def multiplied(value):  # weight normalization, computed at run time from constants
    return [node("Mul", ["V", "g"], ["W"])], {"V": value, "g": np.array(0.5, np.float32)}


FORMS = [
    as_initializer,
    as_constant,
    as_default_of_an_input,
    behind_a_transpose,
    behind_an_identity,
    behind_a_reshape,
    behind_a_cast,
    behind_an_unsqueeze,
    made_of_two_halves,
    multiplied,
]


@pytest.mark.parametrize("opset", [13, 21])
@pytest.mark.parametrize("rules", ["default", "htp_v69", "htp_v81", "tensorrt"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("layer", "shape", "x"),
    [
        (node("Conv", ["x", "W"], ["y"]), (4, 3, 3, 3), [1, 3, 8, 8]),
        (node("ConvTranspose", ["x", "W"], ["y"]), (4, 3, 3, 3), [1, 4, 8, 8]),
        (node("Gemm", ["x", "W"], ["y"], transB=1), (4, 8), [2, 8]),
        (node("MatMul", ["x", "W"], ["y"]), (4, 8), [2, 4]),
    ],
    ids=lambda v: getattr(v, "op_type", None),
)
def test_a_weight_in_any_form_is_quantized(form, layer, shape, x, rules, opset):
    nodes, weights = form(normal(*shape))
    inputs = {"x": x}
    if nodes == "input":
        nodes, inputs = [], {"x": x, "W": shape}
    model = build([*nodes, layer], inputs, weights, opset=opset)
    # The runtime does not prepare a weight that a caller may replace; here it is a constant.
    exact = form is not as_default_of_an_input
    sim = simulate(model, samples(x=x), config_file=rules, exact=exact)
    assert [i.name for i in sim.session.get_inputs()] == ["x"]
    listed = rows(sim)
    # On the weight itself, or on what it is made of; never silently in float.
    carriers = [listed[t] for t in ("W", *weights) if t in listed]
    assert any(r.status == "quantized" for r in carriers), carriers
    assert all(r.reason for r in carriers)
    quantizer = next(sim.qc_quantize_op_dict[r.tensor] for r in carriers if r.status == "quantized")
    if form not in (made_of_two_halves, multiplied):
        assert quantizer.use_symmetric_encodings
        doubles = {"W", *weights} & set(sim.activation_names)
        assert not any(sim.qc_quantize_op_dict[t].enabled for t in doubles)
    if rules != "htp_v69" and form not in (behind_a_reshape, made_of_two_halves, multiplied):
        channels = (
            3 if layer.op_type == "ConvTranspose" else shape[1 if layer.op_type == "MatMul" else 0]
        )
        assert len(quantizer.get_encodings()) == channels
