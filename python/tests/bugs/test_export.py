"""What a written model and an encodings file say of each tensor."""

from __future__ import annotations

import json

import numpy as np
import pytest
from onnx import TensorProto

import bitsweep
from situations import build, node, normal, rows, samples, simulate
from written import checked_export, faces, maker, types

CODES = {
    (4, "parameter"): TensorProto.INT4,
    (8, "parameter"): TensorProto.INT8,
    (16, "parameter"): TensorProto.INT16,
    (8, "activation"): TensorProto.UINT8,
    (16, "activation"): TensorProto.UINT16,
}


# G39: the codes of a weight have the weight's type, whatever the activations have
@pytest.mark.parametrize(("weight", "activation"), [(8, 16), (16, 8), (4, 16), (8, 8)])
@pytest.mark.parametrize("integers", [False, True])
@pytest.mark.parametrize("kind", ["MatMul", "Gemm", "Conv"])
def test_weights_and_activations_have_types_of_their_own(
    kind, weight, activation, integers, tmp_path
):
    shapes = {"MatMul": ([1, 8], (8, 4)), "Gemm": ([1, 8], (8, 4)), "Conv": ([1, 8, 5, 5], (4, 8, 3, 3))}  # fmt: skip
    x, w = shapes[kind]
    model = build([node(kind, ["x", "W"], ["y"], name="product")], {"x": x}, {"W": normal(*w)})
    feeds = samples(x=x)
    sim = simulate(
        model, feeds, param_type=f"int{weight}", activation_type=f"int{activation}", config_file="default"
    )  # fmt: skip
    exported = checked_export(sim, feeds, prequantize_constants=integers)
    zero = types(exported)
    product = next(n for n in exported.graph.node if n.name == "product")
    assert zero[maker(exported, product.input[1]).input[2]] == CODES[weight, "parameter"]
    assert zero[maker(exported, product.input[0]).input[2]] == CODES[activation, "activation"]
    sim.export(tmp_path, "m", export_model=False, encoding_version="2.0.0")
    entries = json.loads((tmp_path / "m.encodings").read_text())["encodings"]
    said = {e["name"]: e["output_dtype"] for e in entries}
    assert said["W"] == f"int{weight}"
    assert said["x"] == f"uint{activation}"


# G40: each float tensor is in the file, repeats another one, or is listed with the reason
@pytest.mark.parametrize("version", ["0.6.1", "1.0.0", "2.0.0"])
def test_every_float_tensor_is_in_the_file_or_listed(version, tmp_path):
    model = build(
        [
            node("Resize", ["uv_in", "", "scales"], ["uv"], mode="nearest"),
            node("Concat", ["y_in", "uv"], ["yuv"], axis=1),
            node("Conv", ["yuv", "W"], ["y"]),
        ],
        {"y_in": [1, 1, 8, 8], "uv_in": [1, 2, 4, 4]},
        {"W": normal(4, 3, 3, 3), "scales": np.array([1, 1, 2, 2], np.float32)},
    )
    feeds = samples(y_in=[1, 1, 8, 8], uv_in=[1, 2, 4, 4])
    sim = simulate(model, feeds)
    if version == "0.6.1":
        with pytest.warns(DeprecationWarning, match=r"0\.6\.1"):
            sim.export(tmp_path, "m", export_model=False, encoding_version=version)
    else:
        sim.export(tmp_path, "m", export_model=False, encoding_version=version)
    document = json.loads((tmp_path / "m.encodings").read_text())
    if version == "2.0.0":
        named = {e["name"] for e in document["encodings"]}
    else:
        sections = (document["activation_encodings"], document["param_encodings"])
        named = {e if isinstance(e, str) else e["name"] for part in sections for e in part}
    report = rows(sim)
    for tensor in ("y_in", "uv_in", "uv", "yuv", "W", "y", "scales"):
        # Version 2.0.0 also names tensors whose grid follows from that of others.
        assert tensor in named or (report[tensor].status == "float" and report[tensor].reason), (
            tensor
        )
    assert {"y_in", "uv_in"} <= named
    checked_export(sim, feeds)


# G41: a graph output that is read inside, too, keeps its name, type and place
@pytest.mark.parametrize("last", ["MatMul", "Relu", "Identity"])
def test_faces_of_the_graph_do_not_change(last):
    inputs = ["audio_features", "W2"] if last == "MatMul" else ["audio_features"]
    model = build(
        [node("MatMul", ["x", "W1"], ["audio_features"]), node(last, inputs, ["logits"])],
        {"x": ["batch", 8]},
        {"W1": normal(8, 8), "W2": normal(8, 4)} if last == "MatMul" else {"W1": normal(8, 8)},
        outputs=("audio_features", "logits"),
    )
    feeds = samples(x=[2, 8])
    sim = simulate(model, feeds)
    exported = checked_export(sim, feeds)
    assert faces(exported) == faces(model)
    again = bitsweep.QuantizationSimModel.from_onnx_qdq(exported)
    assert [o.name for o in again.session.get_outputs()] == ["audio_features", "logits"]


# G42: widths change on the edges that cross a border, and nowhere else
def test_mixed_widths_meet_at_pairs_of_one_type():
    weights = {f"W{i}": normal(4, 4, 1, 1) for i in (1, 2, 3, 4, 7, 8)}
    model = build(
        [
            node("Conv", ["x", "W1"], ["t1"]),
            node("Conv", ["t1", "W2"], ["t2"]),
            node("Conv", ["t2", "W4"], ["t4"]),
            node("Conv", ["t2", "W7"], ["t7"]),
            node("Conv", ["t2", "W8"], ["t8"]),
            node("Conv", ["x", "W3"], ["t3"]),
            node("Add", ["t3", "t4"], ["sum"]),
        ],
        {"x": [1, 4, 6, 6]},
        weights,
        outputs=("sum", "t7", "t8"),
    )
    feeds = samples(x=[1, 4, 6, 6])
    sim = bitsweep.QuantizationSimModel(model)
    sim.qc_quantize_op_dict["t4"].set_bitwidth(16)
    sim.compute_encodings(feeds)
    exported = checked_export(sim, feeds)
    code = types(exported)
    wide = {n.output[0] for n in exported.graph.node if n.op_type == "DequantizeLinear" and code[n.input[2]] == TensorProto.UINT16}  # fmt: skip
    assert wide == {"t4"}
    # The Add reads floats behind both pairs; no pair stands behind another one.
    add = next(n for n in exported.graph.node if n.op_type == "Add")
    assert {maker(exported, t).op_type for t in add.input} == {"DequantizeLinear"}
    for quantize in exported.graph.node:
        if quantize.op_type == "QuantizeLinear" and any(quantize.input[0] in n.output for n in exported.graph.node):  # fmt: skip
            assert maker(exported, quantize.input[0]).op_type != "DequantizeLinear"
