"""Models that are too large for one protobuf message travel through a file."""

from __future__ import annotations

import numpy as np
import pytest

from bitsweep import QuantizationSimModel, _model_input


@pytest.fixture
def small_limit(monkeypatch):
    monkeypatch.setattr(_model_input, "INLINE_LIMIT_BYTES", 1024)


def test_large_weights_are_written_beside_the_model(cnn, tmp_path, small_limit, monkeypatch):
    before = cnn.model.SerializeToString(deterministic=True)
    write = _model_input._write_with_external_data

    def write_and_look(model, folder):
        path = write(model, folder)
        assert (folder / "weights.data").stat().st_size > 4000
        assert path.stat().st_size < 8000
        return path

    monkeypatch.setattr(_model_input, "_write_with_external_data", write_and_look)
    native = _model_input.to_native_model(cnn.model, tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert native.num_nodes() == len(cnn.model.graph.node)
    assert cnn.model.SerializeToString(deterministic=True) == before


def test_large_models_simulate_like_small_ones(cnn, cnn_sim, small_limit, tmp_path):
    sim = QuantizationSimModel(cnn.model, path=tmp_path)
    sim.compute_encodings(cnn.feeds)
    for name, q in cnn_sim.qc_quantize_op_dict.items():
        assert sim.qc_quantize_op_dict[name].get_encodings() == q.get_encodings(), name
    np.testing.assert_allclose(
        sim.session.run(None, cnn.feeds[0])[0],
        cnn_sim.session.run(None, cnn.feeds[0])[0],
        rtol=1e-5,
        atol=1e-6,
    )
    assert list(tmp_path.iterdir()) == []
