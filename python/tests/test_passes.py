"""Preparation passes: what they promise about the numbers, on random nets."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from bitsweep import _core
from bitsweep.batch_norm_fold import fold_all_batch_norms_to_weight
from bitsweep.cross_layer_equalization import equalize_model
from bitsweep.errors import Error
from sessions import float_session

# Weights are rounded once to float32 and sums run in another order; largest output = 1.
TOLERANCE = 1e-5

LAYERS = ["conv", "padded", "depthwise", "grouped", "transposed", "norm", "relu", "prelu", "clip"]
WITH_BIAS = LAYERS[:5]


def random_net(kinds: list[str], seed: int, output_of: int | None = None) -> onnx.ModelProto:
    """Chain of layers with 4 channels; one tensor in the middle may be a second output."""
    rng = np.random.default_rng(seed)
    nodes, weights = [], []

    def constant(name: str, value: np.ndarray) -> str:
        weights.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    def add(kind: str, i: int, x: str) -> str:
        name, out = f"{kind}_{i}", f"t{i}"

        def weight(*shape: int) -> str:
            uneven = rng.uniform(0.1, 3, (shape[0], *[1] * (len(shape) - 1)))
            return constant(f"{name}.w", rng.normal(0, 0.5, shape) * uneven)

        bias = (
            [constant(f"{name}.b", rng.normal(0, 1, 4))]
            if kind in WITH_BIAS and rng.random() < 0.5
            else []
        )
        match kind:
            case "conv":
                node = helper.make_node("Conv", [x, weight(4, 4, 1, 1), *bias], [out], group=1)
            case "padded":
                node = helper.make_node(
                    "Conv", [x, weight(4, 4, 3, 3), *bias], [out], group=1, pads=[1] * 4
                )
            case "depthwise":
                node = helper.make_node(
                    "Conv", [x, weight(4, 1, 3, 3), *bias], [out], group=4, pads=[1] * 4
                )
            case "grouped":
                node = helper.make_node("Conv", [x, weight(4, 2, 1, 1), *bias], [out], group=2)
            case "transposed":
                node = helper.make_node(
                    "ConvTranspose", [x, weight(4, 4, 1, 1), *bias], [out], group=1
                )
            case "norm":
                parameters = [
                    constant(f"{name}.gamma", rng.normal(0, 1, 4)),
                    constant(f"{name}.beta", rng.normal(0, 1, 4)),
                    constant(f"{name}.mean", rng.normal(0, 1, 4)),
                    constant(f"{name}.var", rng.uniform(0.1, 2, 4)),
                ]
                node = helper.make_node("BatchNormalization", [x, *parameters], [out], epsilon=1e-3)
            case "prelu":
                slope = constant(f"{name}.slope", rng.uniform(-0.5, 0.5, (4, 1, 1)))
                node = helper.make_node("PRelu", [x, slope], [out])
            case "clip":
                node = helper.make_node(
                    "Clip",
                    [x, constant(f"{name}.min", np.array(0)), constant(f"{name}.max", np.array(6))],
                    [out],
                )
            case _:
                node = helper.make_node("Relu", [x], [out])
        node.name = name
        nodes.append(node)
        return out

    x = "x"
    for i, kind in enumerate(kinds):
        x = add(kind, i, x)
    outputs = [x] + (
        [f"t{output_of}"] if output_of is not None and output_of < len(kinds) - 1 else []
    )
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, 6, 6])],
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4, "h", "w"])
            for name in outputs
        ],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def outputs(model: onnx.ModelProto) -> list[np.ndarray]:
    x = np.random.default_rng(5).normal(0, 1, (2, 4, 6, 6)).astype(np.float32)
    return float_session(model).run(None, {"x": x})


def assert_same_function(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    onnx.checker.check_model(after)
    assert [o.name for o in before.graph.output] == [o.name for o in after.graph.output]
    for want, got in zip(outputs(before), outputs(after), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE * max(1.0, np.abs(want).max()))


nets = st.builds(
    random_net,
    st.lists(st.sampled_from(LAYERS), min_size=1, max_size=8),
    st.integers(0, 1000),
    st.one_of(st.none(), st.integers(0, 6)),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(nets)
def test_folding_keeps_the_function(model):
    before = onnx.ModelProto.FromString(model.SerializeToString())
    fold_all_batch_norms_to_weight(model)
    assert_same_function(before, model)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(nets)
def test_equalization_keeps_the_function(model):
    before = onnx.ModelProto.FromString(model.SerializeToString())
    equalize_model(model, implied_group=True, absorb_high_biases=False)
    assert_same_function(before, model)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(nets)
def test_a_second_fold_keeps_the_function_too(model):
    before = onnx.ModelProto.FromString(model.SerializeToString())
    fold_all_batch_norms_to_weight(model)
    fold_all_batch_norms_to_weight(model)
    assert_same_function(before, model)


def test_native_passes_leave_their_model_alone():
    proto = random_net(["conv", "norm", "relu", "conv"], 1)
    model = _core.Model.parse(proto.SerializeToString())
    for rewrite in (
        _core.fold_batch_norms,
        _core.equalize_cross_layers,
        _core.duplicate_shared_initializers,
    ):
        rewrite(model)
    fresh = _core.Model.parse(proto.SerializeToString())
    assert model.content_hash() == fresh.content_hash()


def test_pairs_hold_nodes_of_the_new_model_and_the_statistics():
    model = random_net(["conv", "norm", "relu", "norm", "conv"], 2)
    trained = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    behind, in_front = fold_all_batch_norms_to_weight(model)
    assert [node.name for node, _ in behind] == ["conv_0"]
    assert [node.name for node, _ in in_front] == ["conv_4"]
    record = behind[0][1]
    assert record.name == "norm_1"
    np.testing.assert_array_equal(record.gamma, trained["norm_1.gamma"])
    np.testing.assert_array_equal(record.beta, trained["norm_1.beta"])
    assert not any(n.op_type == "BatchNormalization" for n in model.graph.node)


def test_equalization_returns_its_sets_and_balances_the_ranges():
    model = random_net(["padded", "relu", "depthwise", "relu", "conv"], 3)
    sets = equalize_model(model)
    assert [[(p.first, p.second) for p in s] for s in sets] == [
        [("padded_0", "depthwise_2"), ("depthwise_2", "conv_4")]
    ]
    w = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    largest = [
        np.abs(w["padded_0.w"]).max((1, 2, 3)),
        np.abs(w["depthwise_2.w"]).max((1, 2, 3)),
        np.abs(w["conv_4.w"]).max((0, 2, 3)),
    ]
    np.testing.assert_allclose(largest[0], largest[1], rtol=1e-5)
    np.testing.assert_allclose(largest[1], largest[2], rtol=1e-5)


def test_high_biases_move_nearly_exactly():
    """Values three deviations above zero pass Relu unchanged, so the bias may move behind it."""
    model = random_net(["conv", "norm", "relu", "conv"], 4)
    for t in model.graph.initializer:
        if t.name == "norm_1.beta":
            t.CopyFrom(numpy_helper.from_array(np.full(4, 50, np.float32), t.name))
        if t.name == "norm_1.var":  # keeps all values well within three deviations
            t.CopyFrom(numpy_helper.from_array(np.full(4, 400, np.float32), t.name))
        if t.name.startswith("conv") and t.name.endswith(".b"):
            t.CopyFrom(numpy_helper.from_array(np.zeros(4, np.float32), t.name))
    for name in ("conv_0", "conv_3"):
        node = next(n for n in model.graph.node if n.name == name)
        if len(node.input) == 2:
            node.input.append(f"{name}.b")
            model.graph.initializer.append(
                numpy_helper.from_array(np.zeros(4, np.float32), f"{name}.b")
            )
    before = onnx.ModelProto.FromString(model.SerializeToString())
    sets = equalize_model(model)
    assert len(sets[0][0].absorbed) == 4
    assert max(sets[0][0].absorbed) > 0
    for want, got in zip(outputs(before), outputs(model), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-4 * np.abs(want).max())


def test_a_half_model_gets_a_half_bias():
    model = random_net(["conv", "norm"], 7)
    for t in model.graph.initializer:
        t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float16), t.name))
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    del model.graph.node[0].input[2:]
    behind, _ = fold_all_batch_norms_to_weight(model)
    assert len(behind) == 1
    assert {t.data_type for t in model.graph.initializer} == {TensorProto.FLOAT16}


def test_what_is_no_model_is_refused_in_one_sentence():
    with pytest.raises(Error, match=r"a str can't be changed in place; pass an onnx\.ModelProto"):
        fold_all_batch_norms_to_weight("model.onnx")


def test_after_an_error_the_model_is_as_it_was():
    model = random_net(["conv", "norm"], 8)
    model.graph.node[0].input[0] = "nobody"
    model.graph.initializer[0].raw_data = b"short"
    before = model.SerializeToString()
    with pytest.raises(Error):
        fold_all_batch_norms_to_weight(model)
    assert model.SerializeToString() == before
