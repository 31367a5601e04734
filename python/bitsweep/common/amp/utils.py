"""Choices of the mixed-precision search."""

from __future__ import annotations

import enum

__all__ = ["AMPSearchAlgo"]


class AMPSearchAlgo(enum.Enum):
    """How the list of changes is searched for the last point within the allowed drop.

    ``BruteForce`` measures every point until one misses, ``Binary`` halves the interval, ``Interpolation`` divides it
    by the scores at its ends.
    """

    BruteForce = 1
    Interpolation = 2
    Binary = 3
