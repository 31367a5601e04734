"""Weights and biases with several readers."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from situations import PER_CHANNEL, build, node, normal, rng, rows, samples, simulate


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
