"""How far two sweeps of one model agree: scores, ranking and encodings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Encodings = dict[str, list[tuple[float, float]]]

# Above this a quantizer does no harm that anybody could see, and float noise of the runtime decides the last digits.
SENSITIVE_BELOW_DB = 60.0


@dataclass(frozen=True)
class Agreement:
    common: int  # quantizers that both sides scored
    only_one: list[str]  # names that only one side scored
    max_difference_db: (
        float  # over common quantizers that either side scores below SENSITIVE_BELOW_DB
    )
    spearman: float  # over all common quantizers
    top10_overlap: int  # of the ten most sensitive of each side


def compare_scores(one: dict[str, float], other: dict[str, float]) -> Agreement:
    """Both map quantizer names to decibels, where lower is more sensitive."""
    common = [name for name in one if name in other]
    if not common:
        raise SystemExit("the two sweeps share no quantizer name; were they given the same model?")
    a = np.array([one[name] for name in common])
    b = np.array([other[name] for name in common])
    sensitive = np.minimum(a, b) < SENSITIVE_BELOW_DB
    difference = float(np.abs(a - b)[sensitive].max()) if sensitive.any() else 0.0
    return Agreement(
        common=len(common),
        only_one=sorted(one.keys() ^ other.keys()),
        max_difference_db=difference,
        spearman=spearman(a, b),
        top10_overlap=len(set(_most_sensitive(one)) & set(_most_sensitive(other))),
    )


def _most_sensitive(scores: dict[str, float], count: int = 10) -> list[str]:
    return sorted(scores, key=lambda name: scores[name])[:count]


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    """Rank correlation; ties share the mean of their ranks. 1.0 when both sides are constant."""
    x, y = _ranks(a), _ranks(b)
    x, y = x - x.mean(), y - y.mean()
    norm = float(np.sqrt((x @ x) * (y @ y)))
    if norm == 0.0:
        return 1.0 if not x.any() and not y.any() else 0.0
    return float(x @ y) / norm


def _ranks(values: np.ndarray) -> np.ndarray:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2.0)[inverse]


def differing_encodings(one: Encodings, other: Encodings, tolerance: float = 1e-4) -> list[str]:
    """Names whose encodings differ by more than `tolerance` of a step, or that one side does not have.

    The tolerance lets two batch-norm foldings round differently in float32, and nothing more.
    """
    names = []
    for name in one.keys() | other.keys():
        a, b = np.array(one.get(name, [])), np.array(other.get(name, []))
        if (
            a.shape != b.shape
            or not np.allclose(a[:, 0], b[:, 0], rtol=tolerance, atol=0.0)
            or (a[:, 1] != b[:, 1]).any()
        ):
            names.append(name)
    return sorted(names)
