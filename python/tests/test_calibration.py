"""compute_encodings in all its forms."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import bitsweep
import models
from bitsweep import QuantizationSimModel
from bitsweep.common.defs import CallbackFunc


def encodings(sim):
    return {n: q.get_encodings() for n, q in sim.qc_quantize_op_dict.items() if q.enabled}


@pytest.fixture
def fresh(cnn):
    return QuantizationSimModel(cnn.model)


def test_all_forms_give_the_same_encodings(cnn, cnn_sim):
    def run_all(session):
        for feed in cnn.feeds:
            session.run(None, feed)

    def run_some(session, count):
        for feed in cnn.feeds[:count]:
            session.run(None, feed)

    def in_context(sim):
        with bitsweep.compute_encodings(sim):
            run_all(sim.session)

    forms = {
        "list": lambda s: s.compute_encodings(cnn.feeds),
        "keyword": lambda s: s.compute_encodings(inputs=cnn.feeds),
        "generator": lambda s: s.compute_encodings(f for f in cnn.feeds),
        "callback": lambda s: s.compute_encodings(run_all),
        "callback_func": lambda s: s.compute_encodings(CallbackFunc(run_some, 3)),
        "context": in_context,
    }
    for name, form in forms.items():
        sim = QuantizationSimModel(cnn.model)
        form(sim)
        assert encodings(sim) == encodings(cnn_sim), name
    sim = QuantizationSimModel(cnn.model)
    with pytest.warns(DeprecationWarning, match="argument"):
        sim.compute_encodings(
            forward_pass_callback=run_some, forward_pass_callback_args=len(cnn.feeds)
        )
    assert encodings(sim) == encodings(cnn_sim)


@pytest.mark.parametrize("scheme", ["min_max", "tf_enhanced", "percentile"])
def test_a_range_does_not_depend_on_what_else_is_calibrated(scheme):
    """Fusions that a quantizer in between prevents must not move a range by their last bits."""
    rng = np.random.default_rng(3)
    weights = {"w": models.normal(rng, 8, 3, 3, 3), "b": models.normal(rng, 8)}
    for name in ("scale", "shift", "mean", "variance"):
        weights[name] = np.abs(models.normal(rng, 8)) + np.float32(0.5)
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        net (float[1,3,12,12] x) => (float[1,8,12,12] y) {
          c = Conv<pads = [1, 1, 1, 1]>(x, w, b)
          n = BatchNormalization(c, scale, shift, mean, variance)
          y = Relu(n)
        }"""
    )
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(value, name) for name, value in weights.items()
    )
    feeds = [{"x": models.normal(rng, 1, 3, 12, 12)} for _ in range(2)]

    def ranges(*observed: str):
        sim = QuantizationSimModel(model, quant_scheme=scheme, config_file="htp_v66")
        for name in sim.activation_names:
            sim.qc_quantize_op_dict[name].enabled = name in observed
        sim.compute_encodings(feeds)
        return {name: sim.qc_quantize_op_dict[name].get_encodings() for name in observed}

    assert ranges("c", "n", "y")["y"] == ranges("y")["y"]


def test_nested_contexts_calibrate_once(cnn, fresh, cnn_sim):
    with bitsweep.compute_encodings(fresh):
        fresh.compute_encodings(cnn.feeds[:1])
        for feed in cnn.feeds[1:]:
            fresh.session.run(None, feed)
    assert encodings(fresh) == encodings(cnn_sim)


def test_an_exception_puts_the_old_encodings_back(cnn, cnn_sim):
    before = encodings(cnn_sim)

    def fails(session):
        session.run(None, {"x": 50 * cnn.feeds[0]["x"]})
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cnn_sim.compute_encodings(fails)
    assert encodings(cnn_sim) == before
    cnn_sim.session.run(None, cnn.feeds[0])


def test_a_bad_sample_puts_the_old_encodings_back(cnn, cnn_sim):
    before = encodings(cnn_sim)
    with pytest.raises(ValueError, match='"x" is missing'):
        cnn_sim.compute_encodings([{"x": 9 * cnn.feeds[0]["x"]}, {"wrong": cnn.feeds[0]["x"]}])
    assert encodings(cnn_sim) == before


@pytest.mark.parametrize("inputs", [[], lambda session: None], ids=["no samples", "no run"])
def test_nothing_seen_is_an_error(fresh, inputs):
    with pytest.raises(RuntimeError):
        fresh.compute_encodings(inputs)
    assert not fresh.qc_quantize_op_dict["x"].is_initialized()


def test_one_dict_is_no_series_of_samples(cnn, fresh):
    with pytest.raises(ValueError, match=r"\[feed\]"):
        fresh.compute_encodings(cnn.feeds[0])
    with pytest.raises(ValueError, match="int holds no samples"):
        fresh.compute_encodings(5)
    with pytest.raises(TypeError, match="samples or a function"):
        fresh.compute_encodings()


def test_nan_is_skipped_and_named(cnn, fresh):
    x = cnn.feeds[0]["x"].copy()
    x[0, 0, 0, :2] = np.nan
    with pytest.warns(UserWarning, match='"x".*NaN'):
        fresh.compute_encodings([{"x": x}])
    encoding = fresh.qc_quantize_op_dict["x"].get_encodings()[0]
    assert encoding.min == pytest.approx(np.nanmin(x), abs=0.05)


def test_outputs_during_calibration_have_quantized_weights_only(cnn, fresh):
    with bitsweep.compute_encodings(fresh):
        during = fresh.session.run(None, cnn.feeds[0])[0]
    params = {id(q) for q in fresh.get_all_quantizers()[0]}
    for q in fresh.qc_quantize_op_dict.values():
        q.enabled = q.enabled and id(q) in params
    np.testing.assert_allclose(
        during, fresh.session.run(None, cnn.feeds[0])[0], rtol=1e-5, atol=1e-6
    )


def test_disabled_quantizers_stay_without_encoding(cnn, fresh):
    fresh.qc_quantize_op_dict["x"].enabled = False
    fresh.compute_encodings(cnn.feeds)
    assert fresh.qc_quantize_op_dict["x"].get_encodings() is None


def test_frozen_encodings_stay(cnn, cnn_sim):
    q = cnn_sim.qc_quantize_op_dict["x"]
    before = q.get_encodings()
    q.freeze_encodings()
    cnn_sim.compute_encodings([{"x": 10 * cnn.feeds[0]["x"]}])
    assert q.get_encodings() == before
    q.unfreeze_encodings()
    cnn_sim.compute_encodings([{"x": 10 * cnn.feeds[0]["x"]}])
    assert q.get_encodings() != before
