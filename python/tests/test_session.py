"""sim.session behaves like an InferenceSession."""

from __future__ import annotations

import numpy as np
import pytest


def test_inputs_and_outputs_read_as_onnxruntime_gives_them(example, calibrate, float_of):
    ours, theirs = calibrate(example).session, float_of(example.model)
    for a, b in (
        (ours.get_inputs(), theirs.get_inputs()),
        (ours.get_outputs(), theirs.get_outputs()),
    ):
        assert [(x.name, x.type) for x in a] == [(x.name, x.type) for x in b]
    assert [x.shape for x in ours.get_inputs()] == [x.shape for x in theirs.get_inputs()]


def test_all_off_equals_the_float_model(example, calibrate, float_of):
    sim = calibrate(example)
    for q in sim.qc_quantize_op_dict.values():
        q.enabled = False
    session = float_of(example.model)
    for feed in example.feeds:
        for got, want in zip(sim.session.run(None, feed), session.run(None, feed), strict=True):
            assert got.tobytes() == want.tobytes()


def test_all_on_changes_the_outputs_a_little(example, calibrate, float_of):
    sim, session = calibrate(example), float_of(example.model)
    feed = example.feeds[0]
    for got, want in zip(sim.session.run(None, feed), session.run(None, feed), strict=True):
        error = np.abs(got - want).max()
        assert 0 < error < 0.3 * np.abs(want).max()


class TestRun:
    def test_outputs_are_chosen_by_name_in_the_order_asked(self, calibrate):
        import models

        example = models.multi_output()
        session = calibrate(example).session
        boxes, classes, features = session.run(None, example.feeds[0])
        got = session.run(["features", "boxes"], example.feeds[0])
        np.testing.assert_array_equal(got[0], features)
        np.testing.assert_array_equal(got[1], boxes)
        assert session.run(["classes_updated"], example.feeds[0])[0].shape == classes.shape

    def test_unknown_output_names_the_known_ones(self, cnn, cnn_sim):
        with pytest.raises(ValueError, match=r'"z".*y'):
            cnn_sim.session.run(["z"], cnn.feeds[0])

    def test_feed_is_not_changed(self, cnn, cnn_sim):
        before = cnn.feeds[0]["x"].copy()
        cnn_sim.session.run(None, cnn.feeds[0])
        np.testing.assert_array_equal(cnn.feeds[0]["x"], before)

    @pytest.mark.parametrize(
        ("feed", "text"),
        [
            ({}, '"x"'),
            ({"wrong": np.zeros((1, 3, 24, 24), np.float32)}, '"x" is missing'),
            ({"x": np.zeros((1, 3, 24, 24))}, "float64"),
            ({"x": np.zeros((1, 3, 24, 25), np.float32)}, "24"),
            ({"x": np.zeros((3, 24, 24), np.float32)}, '"x"'),
        ],
        ids=["missing", "misnamed", "dtype", "dimension", "rank"],
    )
    def test_bad_feeds_get_a_sentence(self, cnn_sim, feed, text):
        with pytest.raises(ValueError, match=text):
            cnn_sim.session.run(None, feed)

    def test_extra_inputs_are_refused(self, cnn, cnn_sim):
        with pytest.raises(ValueError, match="extra"):
            cnn_sim.session.run(None, {**cnn.feeds[0], "extra": np.zeros(1, np.float32)})

    def test_uncalibrated_quantizers_are_refused(self, cnn):
        from bitsweep import QuantizationSimModel

        with pytest.raises(RuntimeError, match="calibrat"):
            QuantizationSimModel(cnn.model).session.run(None, cnn.feeds[0])

    def test_run_options_are_refused(self, cnn, cnn_sim):
        with pytest.raises(ValueError, match="run_options"):
            cnn_sim.session.run(None, cnn.feeds[0], object())
