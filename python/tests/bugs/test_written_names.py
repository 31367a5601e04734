"""Names, operator sets and everything else of a model that quantization has no business with."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import bitsweep
from sessions import ONE_THREAD
from situations import PER_CHANNEL, build, node, normal, samples, simulate
from written import checked_export, faces


def opsets(model: onnx.ModelProto) -> dict[str, int]:
    return {o.domain: o.version for o in model.opset_import}


# G04, G06: names that an export would like to give are taken already
@pytest.mark.parametrize("integers", [False, True])
def test_new_names_avoid_those_of_tensors_and_nodes(integers):
    taken = ["W1_scale", "W1_q", "x_qdq", "c_float", "c_q", "y_zero_point", "b_dq", "W1_float"]
    chain = [node("Relu", ["c"], [taken[0]], name="c_QuantizeLinear")]
    chain += [node("Relu", [a], [b], name=f"{b}_DequantizeLinear") for a, b in itertools.pairwise(taken)]  # fmt: skip
    model = build(
        [
            node("Conv", ["x", "W1", "b"], ["c"], name="x_QuantizeLinear"),
            *chain,
            node("Conv", [taken[-1], "W2", "b"], ["y"], name="W1_DequantizeLinear"),
        ],
        {"x": [1, 10, 8, 8]},
        {"W1": normal(10, 10, 2, 2), "W2": normal(10, 10, 2, 2), "b": normal(10)},
    )
    feeds = samples(x=[1, 10, 8, 8])
    sim = bitsweep.QuantizationSimModel(model, session_options_kwargs=ONE_THREAD)
    sim.compute_encodings(feeds)
    exported = checked_export(sim, feeds, prequantize_constants=integers, export_int32_bias=True)
    assert faces(exported) == faces(model)
    made = [o for n in exported.graph.node for o in n.output]
    assert len(set(made)) == len(made)
    again = bitsweep.QuantizationSimModel.from_onnx_qdq(exported)
    assert set(taken) <= {o for n in again.model.model.graph.node for o in n.output}


# G29, G30: what an operator set can't say raises it by a conversion, and the IR version with it
@pytest.mark.parametrize(
    ("opset", "options", "least", "ir"),
    [
        (9, {}, 13, 7),  # weights of the usual rules are per channel
        (12, {"config_file": PER_CHANNEL}, 13, 7),
        (13, {"activation_type": "int16"}, 21, 10),
        (13, {"param_type": "int4"}, 21, 10),
        (17, {"param_type": "float8e4m3fn"}, 19, 9),
        (17, {}, 17, 8),
        (12, {"activation_type": "bfloat16"}, 13, 7),
    ],
)
def test_the_operator_set_is_raised_as_far_as_the_formats_need(opset, options, least, ir):
    model = build(
        [node("Conv", ["x", "W"], ["c"], group=8), node("Relu", ["c"], ["y"])],
        {"x": [1, 8, 8, 8]},
        {"W": normal(8, 1, 3, 3)},
        opset=opset,
        imports=[helper.make_opsetid("ai.onnx.ml", 2)],
    )
    feeds = samples(x=[1, 8, 8, 8])
    sim = simulate(model, feeds, **options)
    exported = checked_export(sim, feeds, float16_casts=True)
    assert opsets(exported)[""] >= least
    assert opsets(exported)[""] == max(opset, least)
    assert exported.ir_version >= ir
    assert opsets(exported)["ai.onnx.ml"] == 2  # G31


# Bodies, functions, metadata and documentation go through
@pytest.mark.parametrize("integers", [False, True])
def test_bodies_functions_and_metadata_stay(integers):
    def branch(name: str, operator: str) -> onnx.GraphProto:
        out = helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 6, 6])
        return helper.make_graph([node(operator, ["c"], [name])], name, [], [out])

    twice = helper.make_function(
        "local", "Twice", ["a"], ["b"], [node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )  # fmt: skip
    model = build(
        [
            node("Conv", ["x", "W"], ["c"]),
            node("If", ["on"], ["i"], then_branch=branch("t", "Relu"), else_branch=branch("e", "Tanh")),
            node("Twice", ["i"], ["y"], domain="local"),
        ],
        {"x": [1, 3, 8, 8], "on": []},
        {"W": normal(4, 3, 3, 3)},
        input_types={"on": TensorProto.BOOL},
        imports=[helper.make_opsetid("local", 1)],
        checked=False,
    )  # fmt: skip
    model.functions.append(twice)
    del model.graph.value_info[:]
    model.graph.output[0].CopyFrom(
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4, 6, 6])
    )
    helper.set_model_props(model, {"author": "somebody", "labels": "a,b"})
    model.doc_string = "what it is for"
    model.graph.doc_string = "how it was made"
    model.domain = "example.org"
    model.model_version = 7
    onnx.checker.check_model(model)
    feeds = [dict(s, on=np.array(i % 2 == 0)) for i, s in enumerate(samples(x=[1, 3, 8, 8]))]  # fmt: skip
    sim = bitsweep.QuantizationSimModel(model, session_options_kwargs=ONE_THREAD)
    sim.compute_encodings(feeds)
    exported = checked_export(sim, feeds, prequantize_constants=integers)
    assert {p.key: p.value for p in exported.metadata_props} == {
        "author": "somebody",
        "labels": "a,b",
    }
    assert (exported.doc_string, exported.domain, exported.model_version) == (
        "what it is for",
        "example.org",
        7,
    )
    assert exported.graph.doc_string == "how it was made"
    choice = next(n for n in exported.graph.node if n.op_type == "If")
    bodies = {a.name: [n.op_type for n in a.g.node] for a in choice.attribute}
    assert bodies == {"then_branch": ["Relu"], "else_branch": ["Tanh"]}
