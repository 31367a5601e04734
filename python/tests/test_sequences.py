"""Models whose inputs or outputs are sequences: these pass through the simulation."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

import bitsweep
from bitsweep.quantsim import QuantizationSimModel


def sequence_model() -> onnx.ModelProto:
    """Joins the arrays of a sequence, multiplies them by a weight, and splits the product into rows."""
    floats = TensorProto.FLOAT
    weight = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    graph = helper.make_graph(
        [
            helper.make_node("ConcatFromSequence", ["parts"], ["x"], axis=0),
            helper.make_node("MatMul", ["x", "w"], ["y"]),
            helper.make_node("SplitToSequence", ["y"], ["rows"], axis=0),
        ],
        "sequences",
        [helper.make_tensor_sequence_value_info("parts", floats, None)],
        [
            helper.make_tensor_value_info("y", floats, ["n", 3]),
            helper.make_tensor_sequence_value_info("rows", floats, None),
        ],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def parts(*rows: int) -> dict[str, list[np.ndarray]]:
    rng = np.random.default_rng(sum(rows))
    return {"parts": [rng.standard_normal((n, 4), dtype=np.float32) for n in rows]}


@pytest.fixture
def sim() -> QuantizationSimModel:
    sim = QuantizationSimModel(sequence_model())
    sim.compute_encodings([parts(2, 2), parts(1, 3)])
    return sim


@pytest.mark.parametrize("feed", [parts(2, 2), parts(1, 3), parts(2)], ids=len)
def test_with_all_off_lists_of_arrays_give_what_the_runtime_gives(sim, feed):
    for q in sim.qc_quantize_op_dict.values():
        q.enabled = False
    y, rows = sim.session.run(None, feed)
    want_y, want_rows = ort.InferenceSession(sequence_model().SerializeToString()).run(None, feed)
    assert y.tobytes() == want_y.tobytes()
    assert [r.shape for r in rows] == [r.shape for r in want_rows]
    assert [r.tobytes() for r in rows] == [r.tobytes() for r in want_rows]


def test_the_tensors_between_them_are_quantized(sim):
    feed = parts(2, 2)
    y, rows = sim.session.run(None, feed)
    plain = ort.InferenceSession(sequence_model().SerializeToString()).run(None, feed)[0]
    assert 0 < np.abs(y - plain).max() < 0.1
    assert np.concatenate(rows).tobytes() == y.tobytes()


def test_sequences_are_listed_as_left_in_float(sim):
    reasons = {
        row.tensor: row.reason for row in sim.session.native.describe() if row.status == "float"
    }
    assert "a sequence" in reasons["parts"]
    assert "a sequence" in reasons["rows"]


def test_an_empty_sequence_is_passed_on():
    """The runtime's own interface makes sequences of at least one array only."""
    model = sequence_model()
    model.graph.node.insert(0, helper.make_node("SequenceInsert", ["parts", "w4"], ["filled"]))
    model.graph.node[1].input[0] = "filled"
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.eye(4, dtype=np.float32), "w4"))
    sim = QuantizationSimModel(model)
    sim.compute_encodings([{"parts": []}, parts(2)])
    for q in sim.qc_quantize_op_dict.values():
        q.enabled = False
    session = ort.InferenceSession(model.SerializeToString())
    for feed in ({"parts": []}, parts(2)):
        assert sim.session.run(None, feed)[0].tobytes() == session.run(None, feed)[0].tobytes()


def test_arrays_that_make_no_tensor_are_refused_where_one_is_wanted(cnn, cnn_sim):
    name = cnn_sim.session.get_inputs()[0].name
    ragged = [np.zeros(2, np.float32), np.zeros(3, np.float32)]
    with pytest.raises(ValueError, match="list of arrays that differ"):
        cnn_sim.session.run(None, {name: ragged})


def test_a_sweep_refuses_sequences_in_a_sentence(sim):
    with pytest.raises(bitsweep.Error, match="is a sequence"):
        bitsweep.sweep(sim, [parts(2, 2)])
