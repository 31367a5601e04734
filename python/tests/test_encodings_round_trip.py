"""Encodings files one version after another: what each keeps, and that what it can't say is listed."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import bitsweep
from bitsweep import QuantizationSimModel
from bitsweep.quantsim import (
    load_encodings_to_sim,
    set_blockwise_quantization_for_weights,
    set_lpbq_for_params,
)

PRODUCTS = ("Conv", "Gemm", "MatMul")
VERSIONS = ("0.6.1", "1.0.0", "2.0.0")


def blocks(sim: QuantizationSimModel) -> None:
    set_blockwise_quantization_for_weights(sim, PRODUCTS, 4, True, 4)


def lpbq(sim: QuantizationSimModel) -> None:
    set_lpbq_for_params(sim, 4, 4, op_types=PRODUCTS)


def per_tensor(sim: QuantizationSimModel) -> None:
    for name in sim.param_names:
        sim.qc_quantize_op_dict[name].enable_per_channel_quantization(False)


def strict(sim: QuantizationSimModel) -> None:
    for quantizer in sim.qc_quantize_op_dict.values():
        quantizer.use_symmetric_encodings = True
        quantizer.use_strict_symmetric = True


def unsigned_symmetric(sim: QuantizationSimModel) -> None:
    for name in sim.activation_names:
        sim.qc_quantize_op_dict[name].use_symmetric_encodings = True
        sim.qc_quantize_op_dict[name].use_unsigned_symmetric = True


# Arguments of the simulation, what is changed before its calibration, and the versions that refuse it.
SETTINGS: dict[str, tuple[dict[str, str], Callable | None, tuple[str, ...]]] = {
    "W8A8": ({}, None, ()),
    "W4A16": ({"param_type": "int4", "activation_type": "int16"}, None, ()),
    "W5A6": ({"param_type": "int5", "activation_type": "int6"}, None, ()),
    "per tensor": ({}, per_tensor, ()),
    "strict": ({}, strict, ()),
    "unsigned symmetric": ({}, unsigned_symmetric, ()),
    "blocks": ({}, blocks, ()),
    "LPBQ": ({}, lpbq, ("0.6.1",)),
    "float16": ({"param_type": "float16", "activation_type": "float16"}, None, ()),
    "float8": ({"param_type": "float8e4m3fn"}, None, ("0.6.1", "1.0.0")),
    "bfloat16": ({"activation_type": "bfloat16"}, None, ("0.6.1", "1.0.0")),
}  # fmt: skip


def written(sim, folder, version):
    """Path of the file; warnings of the export as texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sim.export(folder, "m", export_model=False, encoding_version=version)
    return folder / "m.encodings", [
        str(w.message) for w in caught if not issubclass(w.category, DeprecationWarning)
    ]


def outputs(sim, feeds):
    return [np.asarray(out) for feed in feeds for out in sim.session.run(None, feed)]


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_a_version_can_say_passes_through_all_of_them(cnn, tmp_path, setting):
    options, change, refusing = SETTINGS[setting]

    def fresh() -> QuantizationSimModel:
        sim = QuantizationSimModel(cnn.model, **options)
        if change is not None:
            change(sim)
        return sim

    first = sim = fresh()
    sim.compute_encodings(cnn.feeds)
    for version in VERSIONS:
        losses = [loss for loss in sim.encodings_losses(version) if loss.changes_values]
        if version in refusing:
            with pytest.raises(bitsweep.Error, match=rf'".+".*{version} can\'t say'):
                sim.export(tmp_path, "m", export_model=False, encoding_version=version)
            continue
        path, messages = written(sim, tmp_path, version)
        assert len(messages) == min(1, len(losses))
        assert all(f'"{losses[0].tensor}"' in message for message in messages)
        sim = fresh()
        load_encodings_to_sim(sim, path, strict=False)
        for want, got in zip(outputs(first, cnn.feeds), outputs(sim, cnn.feeds), strict=True):
            np.testing.assert_array_equal(want, got)
        for name, quantizer in first.qc_quantize_op_dict.items():
            assert sim.qc_quantize_op_dict[name].enabled == quantizer.enabled, (version, name)


def test_formats_without_an_entry_are_listed_by_tensor(cnn, tmp_path):
    sim = QuantizationSimModel(cnn.model, activation_type="float16")
    sim.compute_encodings(cnn.feeds)
    lost = {loss.tensor for loss in sim.encodings_losses("2.0.0")}
    on = {name for name in sim.activation_names if sim.qc_quantize_op_dict[name].enabled}
    assert on
    assert on <= lost
    assert not sim.encodings_losses("1.0.0")
    with pytest.warns(UserWarning, match=r"is float16.*and \d+ more"):
        sim.export(tmp_path, "m", encoding_version="2.0.0")
