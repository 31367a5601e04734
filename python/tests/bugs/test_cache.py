"""Answers that were kept from earlier runs of a sweep or a mix."""

from __future__ import annotations

import onnx
import pytest
from onnx import numpy_helper

import bitsweep
from bitsweep import _core
from models import convolutions
from sessions import calibrated
from situations import build, node, normal, samples


@pytest.fixture
def model() -> onnx.ModelProto:
    return build(
        [
            node("MatMul", ["x", "w1"], ["h"]),
            node("Relu", ["h"], ["r"]),
            node("MatMul", ["r", "w2"], ["y"]),
        ],
        {"x": [1, 16]},
        {"w1": normal(16, 32), "w2": normal(32, 8)},
    )


def mix(model, feeds, target, calibration, folder=None):
    sim = bitsweep.QuantizationSimModel(model)
    return bitsweep.mix(
        sim,
        feeds,
        ["W4A8", "W8A8", "W8A16"],
        target,
        calibration=calibration,
        frontier_points=0,
        run_directory=folder,
    )


def assert_as_cold(warm, model, feeds, target, calibration):
    cold = mix(model, feeds, target, calibration)
    assert [str(c) for c in warm.chosen.by_group] == [str(c) for c in cold.chosen.by_group]
    assert warm.chosen.measured_db == cold.chosen.measured_db
    return cold


# G38
def test_answers_are_used_again_only_where_they_hold(model, tmp_path):
    feeds, calibration = samples(x=[1, 16]), samples(x=[1, 16])
    first = mix(model, feeds, "gbops<=4e-5", calibration, tmp_path)
    assert first.num_kept == 0

    other_budget = mix(model, feeds, "gbops<=6e-5", calibration, tmp_path)
    cold = assert_as_cold(other_budget, model, feeds, "gbops<=6e-5", calibration)
    assert other_budget.num_run < cold.num_run

    # Widens the range of the input, and with it all encodings behind.
    changed = [calibration[0] | {"x": 2 * calibration[0]["x"]}, *calibration[1:]]
    recalibrated = mix(model, feeds, "gbops<=6e-5", changed, tmp_path)
    assert_as_cold(recalibrated, model, feeds, "gbops<=6e-5", changed)

    weight = next(w for w in model.graph.initializer if w.name == "w1")
    values = numpy_helper.to_array(weight).copy()
    values[3, 5] += 1
    weight.CopyFrom(numpy_helper.from_array(values, "w1"))
    reweighted = mix(model, feeds, "gbops<=6e-5", calibration, tmp_path)
    assert reweighted.num_kept == 0
    assert_as_cold(reweighted, model, feeds, "gbops<=6e-5", calibration)

    file = tmp_path / "journal.sqlite"
    for log in tmp_path.glob("journal.sqlite-*"):
        log.unlink()
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    damaged = mix(model, feeds, "gbops<=6e-5", calibration, tmp_path)
    assert any("damaged" in note for note in damaged.notes)
    assert damaged.num_kept == 0
    assert_as_cold(damaged, model, feeds, "gbops<=6e-5", calibration)


# G38
@pytest.mark.parametrize(
    "change",
    [{}, {"param_type": "int4"}, {"sample_shift": 0.5}, {"weight_shift": 0.5}, {"truncate": True}],
    ids=str,
)
def test_a_changed_question_on_one_run_directory_gets_the_answer_of_a_cold_run(change, tmp_path):
    example = convolutions(6)
    bitsweep.sweep(calibrated(example), example.feeds, run_directory=tmp_path, progress=False)
    change = dict(change)
    truncate = change.pop("truncate", False)
    settings = {k: v for k, v in change.items() if k == "param_type"}
    other = convolutions(6, **{k: v for k, v in change.items() if k not in settings})
    if truncate:
        journal = tmp_path / "journal.sqlite"
        journal.write_bytes(journal.read_bytes()[: journal.stat().st_size // 2])
    warm, cold = (
        bitsweep.sweep(
            calibrated(other, **settings), other.feeds, run_directory=folder, progress=False
        )
        for folder in (tmp_path, None)
    )
    assert _core.sweep_to_json(warm, []) == _core.sweep_to_json(cold, [])
    assert (warm.num_evaluations == 0) == (not change and not truncate)
    assert any("damaged" in note for note in warm.notes) == truncate
