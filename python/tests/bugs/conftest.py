"""Each test draws the same numbers, alone and among the others."""

from __future__ import annotations

import pytest

from situations import rng

START = rng.bit_generator.state


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    rng.bit_generator.state = START
