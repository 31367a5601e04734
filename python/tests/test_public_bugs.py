"""Situations in which tools of this kind were reported to fail; each stands for its whole kind.

The comment names the entry of the collection, so that a failure can be looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from ml_dtypes import bfloat16
from onnx import TensorProto, helper, numpy_helper

import bitsweep
from bitsweep.errors import Error
from sessions import ONE_THREAD, float_session

PER_CHANNEL = "htp_v73"
Feed = dict[str, np.ndarray]

rng = np.random.default_rng(11)
node = helper.make_node


def normal(*shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def build(
    nodes: Sequence[Any],
    inputs: Mapping[str, Sequence[int | str]],
    weights: Mapping[str, np.ndarray],
    outputs: Sequence[str] = ("y",),
    *,
    opset: int = 17,
    input_types: Mapping[str, int] | None = None,
    imports: Sequence[Any] = (),
    output_type: int = TensorProto.FLOAT,
    checked: bool = True,
) -> onnx.ModelProto:
    types = input_types or {}
    graph = helper.make_graph(
        nodes,
        "net",
        [
            helper.make_tensor_value_info(n, types.get(n, TensorProto.FLOAT), shape)
            for n, shape in inputs.items()
        ],
        [onnx.ValueInfoProto(name=n) for n in outputs],
        [numpy_helper.from_array(value, n) for n, value in weights.items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset), *imports], ir_version=8
    )
    model = onnx.shape_inference.infer_shapes(model)
    for output in model.graph.output:
        if not output.HasField("type"):
            output.type.tensor_type.elem_type = output_type
    if checked:
        float_session(model)  # the situation has to be a valid one
    return model


def simulate(model: onnx.ModelProto, feeds: Sequence[Feed], **arguments: Any):
    """Calibrated simulation; with all quantizers off it computes what the float model computes."""
    before = model.SerializeToString()
    sim = bitsweep.QuantizationSimModel(model, session_options_kwargs=ONE_THREAD, **arguments)
    sim.compute_encodings(feeds)
    simulated = sim.session.run(None, feeds[0])
    enabled = [q for q in sim.qc_quantize_op_dict.values() if q.enabled]
    for quantizer in enabled:
        quantizer.enabled = False
    for off, plain in zip(
        sim.session.run(None, feeds[0]), float_session(model).run(None, feeds[0]), strict=True
    ):
        assert off.dtype == plain.dtype
        assert off.tobytes() == plain.tobytes()
    for quantizer in enabled:
        quantizer.enabled = True
    assert all(np.isfinite(y.astype(np.float32)).all() for y in simulated)
    assert model.SerializeToString() == before
    return sim


def samples(count: int = 4, **shapes: Sequence[int]) -> list[Feed]:
    return [{name: normal(*shape) for name, shape in shapes.items()} for _ in range(count)]


def rows(sim) -> dict[str, Any]:
    """Report by tensor; each tensor has one row."""
    reports = sim.describe()
    assert len({r.tensor for r in reports}) == len(reports)
    return {r.tensor: r for r in reports}


def num_scales(sim, tensor: str) -> int:
    return len(sim.qc_quantize_op_dict[tensor].get_encodings())


# G01, G02, G03: the channel axis follows the operator and its attributes
@pytest.mark.parametrize(
    ("layer", "weight", "x", "axis"),
    [
        (
            node("ConvTranspose", ["x", "W", "b"], ["y"], pads=[1] * 4),
            (3, 64, 3, 3),
            (1, 3, 8, 8),
            1,
        ),
        (node("ConvTranspose", ["x", "W"], ["y"], group=2), (4, 3, 2, 2), (1, 4, 8, 8), None),
        (node("Conv", ["x", "W"], ["y"]), (6, 5, 3, 3), (1, 5, 8, 8), 0),
        (node("Conv", ["x", "W"], ["y"], group=5), (5, 1, 3), (1, 5, 8), 0),
        (node("Gemm", ["x", "W", "b"], ["y"], transB=1), (7, 12), (1, 12), 0),
        (node("Gemm", ["x", "W", "b"], ["y"]), (7, 5), (1, 7), 1),
        (node("MatMul", ["x", "W"], ["y"]), (8, 5), (2, 8), 1),
    ],
    ids=lambda v: getattr(v, "op_type", str(v)),
)
def test_one_scale_per_output_channel(layer, weight, x, axis):
    channels = weight[1 if axis is None else axis]
    spread = 2.0 ** (np.arange(weight[1 if axis is None else axis]) % 8)
    shape = [1] * len(weight)
    shape[1 if axis is None else axis] = channels
    weights = {"W": (normal(*weight) * spread.reshape(shape)).astype(np.float32)}
    if "b" in layer.input:
        weights["b"] = normal(channels)
    model = build([layer], {"x": x}, weights)
    sim = simulate(model, samples(x=x), config_file=PER_CHANNEL)
    if axis is None:
        assert "per-channel" in rows(sim)["W"].format or rows(sim)["W"].reason
        return
    assert f"per-channel({axis})" in rows(sim)["W"].format
    assert num_scales(sim, "W") == channels


# G04: a shared bias, and a tensor of the name that a copy would like to have
def test_shared_bias_beside_a_tensor_of_a_likely_copy_name():
    model = build(
        [node("Conv", ["x", "W1", "b"], ["b0"]), node("Conv", ["b0", "W2", "b"], ["y"])],
        {"x": [1, 10, 8, 8]},
        {"W1": normal(10, 10, 2, 2), "W2": normal(10, 10, 2, 2), "b": normal(10)},
    )
    sim = simulate(model, samples(x=[1, 10, 8, 8]))
    assert rows(sim)["b0"].status == "quantized"
    assert [r.tensor for r in sim.describe()].count("b") == 1
    feeds = samples(x=[1, 10, 8, 8])
    exported = sim.to_onnx_qdq(export_int32_bias=True, prequantize_constants=True)
    convs = [n for n in exported.graph.node if n.op_type == "Conv"]
    made = {n.output[0]: n for n in exported.graph.node}
    types = {i.name: i.data_type for i in exported.graph.initializer}
    # A copy in 32 bits for each reader, because the scales of their inputs differ; the float one is gone.
    assert convs[0].input[2] != convs[1].input[2]
    for conv in convs:
        assert types[made[conv.input[2]].input[0]] == onnx.TensorProto.INT32
    assert "b" not in types
    assert sim.verify(exported, feeds, latency_runs=0).passed


# G05: one table read by Gather and, transposed, by Gemm
@pytest.mark.parametrize("rules", ["default", PER_CHANNEL])
def test_tied_embedding_has_one_quantizer(rules):
    model = build(
        [
            node("Gather", ["E", "ids"], ["e"]),
            node("Reshape", ["e", "shape"], ["r"]),
            node("Relu", ["r"], ["a"]),
            node("Gemm", ["a", "E"], ["y"], transB=1),
        ],
        {"ids": [1, 4]},
        {"E": normal(512, 64), "shape": np.array([4, 64])},
        input_types={"ids": TensorProto.INT64},
    )
    feeds = [{"ids": rng.integers(0, 512, (1, 4))} for _ in range(4)]
    sim = simulate(model, feeds, config_file=rules)
    assert sim.param_names.count("E") == 1
    assert rows(sim)["E"].reason


# G06, and names of nodes that are missing or given twice
def test_nodes_with_missing_and_double_names_are_told_apart():
    model = build(
        [
            node("Conv", ["x", "W1", "bias"], ["a"], name="same"),
            node("Conv", ["x", "W2", "bias"], ["b"], name="same"),
            node("Add", ["a", "b"], ["c"]),
            node("Relu", ["c"], ["y"]),
        ],
        {"x": [1, 4, 8, 8]},
        {"W1": normal(4, 4, 3, 3), "W2": normal(4, 4, 3, 3), "bias": normal(4)},
        checked=False,
    )
    sim = bitsweep.QuantizationSimModel(model, session_options_kwargs=ONE_THREAD)
    sim.compute_encodings(samples(x=[1, 4, 8, 8]))
    names = [op.name for op in sim.operators]
    assert len(set(names)) == len(names) == 4
    assert all(names)


# G07
def test_two_simulators_and_an_analysis_of_one_model():
    model = build(
        [node("Conv", ["x", "W"], ["c"], name="conv"), node("Relu", ["c"], ["y"], name="relu")],
        {"x": [1, 3, 8, 8]},
        {"W": normal(4, 3, 3, 3)},
    )
    feeds = samples(x=[1, 3, 8, 8])
    first, second = simulate(model, feeds), simulate(model, feeds)
    assert list(first.qc_quantize_op_dict) == list(second.qc_quantize_op_dict)
    np.testing.assert_array_equal(
        first.session.run(None, feeds[0])[0], second.session.run(None, feeds[0])[0]
    )
    assert len(bitsweep.sweep(first, feeds).scores) == 3


def branch(name: str, weight: np.ndarray) -> Any:
    return helper.make_graph(
        [node("MatMul", ["x", f"{name}.W"], [f"{name}.y"], name=f"{name}.matmul")],
        name,
        [],
        [helper.make_tensor_value_info(f"{name}.y", TensorProto.FLOAT, [1, 8])],
        [numpy_helper.from_array(weight, f"{name}.W")],
    )


# G08
def test_tensors_inside_branches_are_quantized_or_listed():
    model = build(
        [
            node(
                "If",
                ["cond"],
                ["y"],
                then_branch=branch("t", normal(8, 8)),
                else_branch=branch("e", normal(8, 8)),
            )
        ],
        {"x": [1, 8], "cond": []},
        {},
        input_types={"cond": TensorProto.BOOL},
    )
    feeds = [{"x": normal(1, 8), "cond": np.array(k % 2 == 0)} for k in range(4)]
    listed = rows(simulate(model, feeds))
    for name in ("t.W", "e.W", "t.y", "e.y"):
        found = [
            r
            for t, r in listed.items()
            if t == name or t.endswith(f"/{name}") or t.endswith(f".{name}")
        ]
        assert found, name
        assert all(r.status != "float" or r.reason for r in found)


# G09
def test_a_weight_read_by_a_scan_body_and_outside():
    body = helper.make_graph(
        [
            node("MatMul", ["s", "W"], ["s2"]),
            node("Add", ["s2", "step"], ["next"]),
            node("Identity", ["next"], ["out"]),
        ],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("s", "step")],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 4]) for n in ("next", "out")],
    )
    model = build(
        [
            node("Gemm", ["x0", "W"], ["g"], transB=1),
            node("Scan", ["g", "steps"], ["last", "y"], body=body, num_scan_inputs=1),
        ],
        {"x0": [1, 4], "steps": [5, 1, 4]},
        {"W": normal(4, 4) * 0.3},
    )
    sim = simulate(model, samples(x0=[1, 4], steps=[5, 1, 4]))
    assert rows(sim)["W"].status == "quantized"


# G10
def test_an_empty_input_name_gets_no_quantizer():
    model = build(
        [node("Pad", ["x", "pads", ""], ["p"]), node("Conv", ["p", "W"], ["y"])],
        {"x": [1, 3, 8, 8]},
        {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1]), "W": normal(4, 3, 3, 3)},
    )
    assert "" not in rows(simulate(model, samples(x=[1, 3, 8, 8])))


# G11
@pytest.mark.parametrize(
    ("clip", "weights", "opset", "low", "high"),
    [
        (
            node("Clip", ["c", "lo", "hi"], ["y"]),
            {"lo": np.float32(0), "hi": np.float32(6)},
            17,
            0,
            6,
        ),
        (node("Clip", ["c", "", "hi"], ["y"]), {"hi": np.float32(6)}, 17, None, 6),
        (node("Clip", ["c", "lo"], ["y"]), {"lo": np.float32(0)}, 17, 0, None),
        (node("Clip", ["c"], ["y"], min=0.0, max=6.0), {}, 10, 0, 6),
    ],
    ids=["both", "only max", "only min", "attributes"],
)
def test_clip_bounds_come_from_the_right_place(clip, weights, opset, low, high):
    model = build(
        [node("Conv", ["x", "W"], ["c"]), clip],
        {"x": [1, 3, 8, 8]},
        {"W": normal(4, 3, 3, 3), **{k: np.array(v) for k, v in weights.items()}},
        opset=opset,
    )
    sim = simulate(model, samples(x=[1, 3, 8, 8]))
    encoding = sim.qc_quantize_op_dict["y"].get_encodings()[0]
    if low is not None:
        assert encoding.min == 0
    else:
        assert encoding.min < -1
    if high is not None:
        assert encoding.max <= 6 + encoding.delta
    else:
        assert encoding.max > 6
    assert sim.qc_quantize_op_dict["W"].enabled


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


# G23
def test_samples_of_different_lengths_calibrate_as_one_batch():
    model = build([node("MatMul", ["x", "W"], ["y"])], {"x": ["N", "S", 8]}, {"W": normal(8, 8)})
    parts = [normal(1, length, 8) for length in (3, 5, 9)]
    apart = simulate(model, [{"x": p} for p in parts])
    together = simulate(model, [{"x": np.concatenate(parts, 1)}])
    for tensor in ("x", "y", "W"):
        a = apart.qc_quantize_op_dict[tensor].get_encodings()[0]
        b = together.qc_quantize_op_dict[tensor].get_encodings()[0]
        assert a.min == pytest.approx(b.min, rel=1e-6)
        assert a.max == pytest.approx(b.max, rel=1e-6)


# G24
def test_symbolic_dimensions_take_any_size_and_fixed_ones_are_checked():
    model = build(
        [node("Conv", ["x", "W"], ["y"])], {"x": ["batch", 3, "h", "w"]}, {"W": normal(4, 3, 3, 3)}
    )
    sim = simulate(model, samples(x=[1, 3, 16, 24]) + samples(x=[2, 3, 9, 7]))
    with pytest.raises(Error, match=r'"x".*4') as refused:
        sim.session.run(None, {"x": normal(1, 4, 16, 24)})
    assert "3" in str(refused.value)


# G25
@pytest.mark.parametrize("lengths", [(0, 3), (0, 0)])
def test_an_empty_past_is_skipped_in_the_statistics(lengths):
    model = build(
        [
            node("Concat", ["past", "k"], ["keys"], axis=2),
            node("Transpose", ["keys"], ["kt"], perm=[0, 1, 3, 2]),
            node("MatMul", ["q", "kt"], ["y"]),
        ],
        {"past": [1, 2, "P", 4], "k": [1, 2, 1, 4], "q": [1, 2, 1, 4]},
        {},
    )
    feeds = [
        {"past": normal(1, 2, p, 4), "k": normal(1, 2, 1, 4), "q": normal(1, 2, 1, 4)}
        for p in lengths
    ]
    sim = simulate(model, feeds)
    assert np.isfinite(sim.session.run(None, feeds[-1])[0]).all()
    with_values = {"past": normal(1, 2, 3, 4), "k": feeds[0]["k"], "q": feeds[0]["q"]}
    assert np.isfinite(sim.session.run(None, with_values)[0]).all()


# G26
@pytest.mark.parametrize("from_constants", [False, True])
def test_two_recurrent_layers(from_constants):
    nodes, weights, x = [], {}, "x"
    for k, size in enumerate((10, 20)):
        for name, shape in {"W": (80, size), "R": (80, 20), "B": (160,)}.items():
            value = normal(*shape) * np.float32(0.2)
            if from_constants:
                nodes += [
                    node("Constant", [], [f"{name}{k}.flat"], value=numpy_helper.from_array(value)),
                    node("Unsqueeze", [f"{name}{k}.flat", "axis"], [f"{name}{k}"]),
                ]
                weights["axis"] = np.array([0])
            else:
                weights[f"{name}{k}"] = value[np.newaxis]
        weights |= {
            f"h{k}": np.zeros((1, 1, 20), np.float32),
            f"c{k}": np.zeros((1, 1, 20), np.float32),
        }
        out = "y" if k else "mid"
        nodes.append(
            node(
                "LSTM",
                [x, f"W{k}", f"R{k}", f"B{k}", "", f"h{k}", f"c{k}"],
                [f"Y{k}"],
                hidden_size=20,
                name=f"lstm{k}",
            )
        )
        nodes.append(node("Squeeze", [f"Y{k}", "one"], [out]))
        x = out
    model = build(nodes, {"x": [5, 1, 10]}, {**weights, "one": np.array([1])})
    sim = simulate(model, samples(x=[5, 1, 10]))
    report = rows(sim)
    for k in (0, 1):
        for name in ("W", "R"):
            found = [report[t] for t in (f"{name}{k}", f"{name}{k}.flat") if t in report]
            assert any(r.status == "quantized" for r in found), (name, k)
    assert {"lstm0", "lstm1"} <= {op.name for op in sim.operators}


# G29, G30: what an old operator set cannot write can still be simulated
@pytest.mark.parametrize(("opset", "bits"), [(7, 8), (12, 8), (13, 16), (10, 16)])
def test_old_operator_sets_are_simulated_at_any_width_per_channel(opset, bits):
    model = build(
        [node("Conv", ["x", "W"], ["c"], group=8), node("Relu", ["c"], ["y"])],
        {"x": [1, 8, 8, 8]},
        {"W": normal(8, 1, 3, 3)},
        opset=opset,
    )
    sim = simulate(
        model, samples(x=[1, 8, 8, 8]), activation_type=f"int{bits}", config_file=PER_CHANNEL
    )
    assert num_scales(sim, "W") == 8
    assert sim.qc_quantize_op_dict["y"].bitwidth == bits


# G31
def test_imports_of_other_domains_do_not_disturb():
    model = build(
        [node("Relu", ["x"], ["y"])],
        {"x": [1, 8]},
        {},
        opset=13,
        imports=[helper.make_opsetid("ai.onnx.ml", 2)],
    )
    simulate(model, samples(x=[1, 8]))


# G32
def test_an_unknown_operator_is_named_with_its_domain():
    model = build(
        [
            node("Conv", ["x", "W1"], ["a"]),
            node("Foo", ["a"], ["b"], domain="my.domain", name="foo"),
            node("Conv", ["b", "W2"], ["y"]),
        ],
        {"x": [1, 3, 8, 8]},
        {"W1": normal(4, 3, 1, 1), "W2": normal(4, 4, 1, 1)},
        imports=[helper.make_opsetid("my.domain", 1)],
        checked=False,
    )
    with pytest.raises(Error) as refused:
        simulate(model, samples(x=[1, 3, 8, 8]))
    assert all(word in str(refused.value) for word in ("Foo", "my.domain", "foo"))


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


# G49
@pytest.mark.parametrize("kind", ["Sum", "Add", "Max", "Concat"])
def test_graph_inputs_that_meet_first_are_quantized(kind):
    attributes = {"axis": 1} if kind == "Concat" else {}
    model = build(
        [node(kind, ["a", "b"], ["s"], **attributes), node("Relu", ["s"], ["y"])],
        {"a": [1, 8], "b": [1, 8]},
        {},
    )
    report = rows(simulate(model, samples(a=[1, 8], b=[1, 8])))
    for tensor in ("a", "b"):
        assert report[tensor].status in ("quantized", "tied"), tensor
    assert report["s"].status == "quantized" or report["s"].reason


# G50
def test_layout_operators_share_one_quantizer():
    model = build(
        [
            node("Conv", ["x", "W1"], ["c"]),
            node("Reshape", ["c", "shape"], ["r"]),
            node("Transpose", ["r"], ["t"], perm=[0, 2, 1]),
            node("Unsqueeze", ["t", "axis"], ["u"]),
            node("Conv", ["u", "W2"], ["y"]),
        ],
        {"x": [1, 3, 6, 6]},
        {
            "W1": normal(4, 3, 3, 3),
            "W2": normal(2, 1, 3, 3),
            "shape": np.array([1, 4, 16]),
            "axis": np.array([1]),
        },
    )
    sim = simulate(model, samples(x=[1, 3, 6, 6]))
    between = {
        id(sim.qc_quantize_op_dict[t].native)
        for t in ("c", "r", "t", "u")
        if t in sim.qc_quantize_op_dict and sim.qc_quantize_op_dict[t].enabled
    }
    assert len(between) == 1


# G51
def test_dead_tensors_are_listed_once_and_never_swept():
    model = build(
        [
            node("MatMul", ["x", "W"], ["y"]),
            node("Relu", ["x"], ["dead"]),
            node("MatMul", ["dead", "V"], ["deader"]),
        ],
        {"x": [1, 8]},
        {"W": normal(8, 4), "V": normal(8, 4), "unused": np.arange(4), "large": normal(512, 512)},
        checked=False,
    )
    feeds = samples(x=[1, 8])
    sim = simulate(model, feeds)
    assert rows(sim)["large"].reason == "nobody reads it"
    for tensor in ("dead", "deader", "V"):
        assert rows(sim)[tensor].reason == "no output of the model needs it"
    assert set(sim.qc_quantize_op_dict) == {"x", "W", "y"}
    assert {s.name for s in bitsweep.sweep(sim, feeds).scores} == {"x", "W", "y"}
