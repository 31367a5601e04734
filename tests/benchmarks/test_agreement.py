"""How two sweeps are compared."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from agreement import compare_scores, differing_encodings, spearman


def test_equal_sweeps_agree_fully():
    scores = {f"t{i}": 20.0 + i for i in range(15)}
    result = compare_scores(scores, dict(reversed(scores.items())))
    assert result.common == 15
    assert result.only_one == []
    assert result.max_difference_db == 0.0
    assert result.spearman == 1.0
    assert result.top10_overlap == 10


def test_differences_count_only_where_one_side_is_sensitive():
    result = compare_scores({"a": 30.0, "b": 90.0, "c": 61.0}, {"a": 30.5, "b": 70.0, "c": 59.0})
    assert result.max_difference_db == pytest.approx(2.0)


def test_names_of_one_side_only_are_reported():
    result = compare_scores({"a": 1.0, "b": 2.0}, {"b": 2.0, "c": 3.0})
    assert result.common == 1
    assert result.only_one == ["a", "c"]


def test_sweeps_without_common_names_are_refused():
    with pytest.raises(SystemExit, match="share no quantizer name"):
        compare_scores({"a": 1.0}, {"b": 1.0})


def test_rank_correlation_of_reversed_order_is_minus_one():
    assert spearman(np.array([1.0, 2.0, 5.0]), np.array([9.0, 8.0, 1.0])) == pytest.approx(-1.0)


def test_rank_correlation_shares_ranks_between_ties():
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: 4.5 / sqrt(4.5 * 5), worked by hand.
    value = spearman(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert value == pytest.approx(4.5 / np.sqrt(4.5 * 5.0))


def test_encodings_differ_by_step_offset_channels_or_presence():
    one = {
        "same": [(0.1, -128)],
        "step": [(0.1, 0)],
        "offset": [(0.1, 0)],
        "channels": [(0.1, 0)],
        "gone": [(1.0, 0)],
    }
    other = {
        "same": [(0.1 * (1 + 1e-6), -128)],
        "step": [(0.1001, 0)],
        "offset": [(0.1, -1)],
        "channels": [(0.1, 0), (0.1, 0)],
    }
    assert differing_encodings(one, other) == ["channels", "gone", "offset", "step"]
