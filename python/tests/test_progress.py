"""The line on the terminal."""

from __future__ import annotations

import io

import pytest

from bitsweep.progress import SimpleProgress, TextProgress, resolve


def test_line_shows_part_times_and_the_worst_group():
    text = TextProgress(io.StringIO(), width=4).text(
        SimpleProgress(1, 2, 61, 3725, "conv1", 12.345)
    )
    assert text == "sweep [##..]  50% 1:01, 0.000268/s, 1:02:05 left, worst conv1 12.35"


def test_unknown_totals_show_the_count():
    assert TextProgress(io.StringIO()).text(SimpleProgress(7, -1, 0, -1)) == "sweep 7 done 0:00"


def test_a_shorter_line_wipes_the_longer_one_and_the_end_breaks_the_line():
    stream = io.StringIO()
    draw = TextProgress(stream)
    draw(SimpleProgress(1, 2, 0, 5, "a_long_name", 1.0))
    draw(SimpleProgress(2, 2, 0, 0))
    _, first, second = stream.getvalue().split("\r")
    assert len(second.rstrip("\n")) >= len(first)
    assert second.endswith("\n")


@pytest.mark.parametrize(("value", "draws"), [(True, True), (False, False)])
def test_switches_draw_or_not(value, draws):
    assert (resolve(value) is not None) == draws


def test_nothing_is_drawn_into_files(capsys):
    assert resolve(None) is None


def test_functions_are_kept():
    assert resolve(print) is print
