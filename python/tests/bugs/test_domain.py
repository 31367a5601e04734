"""Operators of domains that nobody knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper

import bitsweep
from bitsweep.errors import Error
from custom_op import build_triple
from sessions import ONE_THREAD
from situations import build, node, normal, rows, samples, simulate


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


# Contributed operators of the runtime run, their tensors are quantized or listed
@pytest.mark.parametrize(
    ("layer", "weights"),
    [
        (node("Gelu", ["h"], ["c"], domain="com.microsoft"), {}),
        (node("FastGelu", ["h"], ["c"], domain="com.microsoft"), {}),
        (node("BiasGelu", ["h", "b"], ["c"], domain="com.microsoft"), {"b": (8,)}),
        (node("QuickGelu", ["h"], ["c"], domain="com.microsoft"), {}),
        (node("FusedMatMul", ["h", "W2"], ["c"], domain="com.microsoft"), {"W2": (8, 8)}),
        (
            node("SkipLayerNormalization", ["h", "x2", "g", "b"], ["c"], domain="com.microsoft"),
            {"g": (8,), "b": (8,), "x2": (1, 4, 8)},
        ),
    ],
    ids=lambda v: getattr(v, "op_type", None),
)
def test_contributed_operators_run(layer, weights):
    model = build(
        [node("MatMul", ["x", "W"], ["h"]), layer, node("Relu", ["c"], ["y"])],
        {"x": [1, 4, 8]},
        {
            "W": normal(8, 8),
            **{n: normal(*shape) for n, shape in weights.items()},
        },
        imports=[helper.make_opsetid("com.microsoft", 1)],
        output_shape=[1, 4, 8],
    )
    sim = simulate(model, samples(x=[1, 4, 8]))
    report = rows(sim)
    for tensor in ("x", "W", "h", "c", "y", *weights):
        assert report[tensor].reason, tensor
    assert report["c"].status in ("quantized", "tied")


def test_a_function_of_the_model_is_read_node_by_node():
    function = helper.make_function(
        "my.functions", "Twice", ["a", "w"], ["r"],
        [node("MatMul", ["a", "w"], ["t"]), node("Tanh", ["t"], ["r"])],
        [helper.make_opsetid("", 17)],
    )  # fmt: skip
    model = build(
        [
            node("Twice", ["x", "W"], ["h"], domain="my.functions", name="first"),
            node("Twice", ["h", "W"], ["y"], domain="my.functions", name="second"),
        ],
        {"x": [2, 4]},
        {"W": normal(4, 4)},
        imports=[helper.make_opsetid("my.functions", 1)],
        functions=[function],
    )
    sim = simulate(model, samples(x=[2, 4]))
    assert [op.type for op in sim.operators] == ["MatMul", "Tanh"] * 2
    assert sim.param_names == ["W"]
    assert rows(sim)["h"].status == "quantized"


# Operators of a library that the user brings
@pytest.fixture(scope="module")
def triple_library(tmp_path_factory) -> Path:
    """Library with the operator Triple of the domain "test.ops"."""
    return build_triple(tmp_path_factory.mktemp("custom"))


def triple_model():
    return build(
        [
            node("MatMul", ["x", "W"], ["h"]),
            node("Triple", ["h"], ["t"], domain="test.ops", name="triple"),
            node("MatMul", ["t", "V"], ["y"]),
        ],
        {"x": [1, 8]},
        {"W": normal(8, 8), "V": np.eye(8, dtype=np.float32)},
        imports=[helper.make_opsetid("test.ops", 1)],
        output_shape=[1, 8],
        checked=False,  # not without the library
    )


def test_operators_of_a_library_run_and_their_tensors_are_quantized(triple_library):
    model = triple_model()
    feeds = samples(x=[1, 8])
    sim = bitsweep.QuantizationSimModel(
        model,
        param_type="int16",
        activation_type="int16",
        user_onnx_libs=[triple_library],
        session_options_kwargs=ONE_THREAD,
    )
    sim.compute_encodings(feeds)
    weight = numpy_helper.to_array(model.graph.initializer[0])
    wanted = 3 * feeds[0]["x"] @ weight
    np.testing.assert_allclose(sim.session.run(None, feeds[0])[0], wanted, atol=0.01)
    report = rows(sim)
    assert all(report[t].status == "quantized" for t in ("x", "W", "h", "t", "V", "y"))


def test_a_library_that_is_missing_or_holds_no_operators_is_named(tmp_path):
    no_library = tmp_path / "text.so"
    no_library.write_text("no library")
    for library in (tmp_path / "nowhere.so", no_library):
        with pytest.raises(Error, match=f"^custom operators: .*{library.name}.*; give"):
            bitsweep.QuantizationSimModel(triple_model(), user_onnx_libs=[library])
