"""One line on the terminal that says how far a sweep is and how long it will take."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TextIO

__all__ = ["Progress", "ProgressCallback", "SimpleProgress", "TextProgress", "resolve"]


class Progress(Protocol):
    """What a progress function gets.

    Attributes
    ----------
    done, total : int
        Pieces of work; `total` is -1 while unknown.
    elapsed_s, remaining_s : float
        Seconds; `remaining_s` is -1 while unknown.
    worst : str
        Most sensitive group so far, empty while unknown.
    worst_score : float
        Its score.

    The progress of a mix has a ``stage`` too, such as "measure groups".
    """

    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...
    @property
    def elapsed_s(self) -> float: ...
    @property
    def remaining_s(self) -> float: ...
    @property
    def worst(self) -> str: ...
    @property
    def worst_score(self) -> float: ...


# Returns something true to stop early.
ProgressCallback = Callable[[Any], Any]


@dataclass(frozen=True)
class SimpleProgress:
    """Progress of loops that run in Python; see :class:`Progress`."""

    done: int
    total: int
    elapsed_s: float
    remaining_s: float
    worst: str = ""
    worst_score: float = 0.0
    stage: str = "sweep"


# A rate says nothing before.
_CLEAR_S = 0.1


def _clock(seconds: float) -> str:
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, seconds_left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{seconds_left:02}" if hours else f"{minutes}:{seconds_left:02}"


def _rate(progress: Progress) -> float:
    """Steps per second; the time so far holds the preparation, the time left does not."""
    if progress.remaining_s > 0:
        return (progress.total - progress.done) / progress.remaining_s
    return progress.done / progress.elapsed_s


class TextProgress:
    """Draws progress as one line that is overwritten in place.

    Parameters
    ----------
    stream : text stream
        A terminal; default: standard error.
    width : int
        Characters of the bar.

    Examples
    --------
    >>> import sys
    >>> from bitsweep.progress import SimpleProgress, TextProgress
    >>> TextProgress(sys.stdout)(SimpleProgress(1, 2, 3.0, 3.0, "conv", 12.5))  # doctest: +SKIP
    """

    def __init__(self, stream: TextIO | None = None, width: int = 24) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._width = width
        self._drawn = 0

    def __call__(self, progress: Progress) -> None:
        self._draw(self.text(progress))
        if 0 <= progress.total <= progress.done:
            self.close()

    def text(self, progress: Progress) -> str:
        """The line for one state of progress."""
        stage = getattr(progress, "stage", "sweep")
        if progress.total > 0:
            part = min(1.0, progress.done / progress.total)
            filled = round(part * self._width)
            line = f"{stage} [{'#' * filled}{'.' * (self._width - filled)}] {part:4.0%}"
        else:
            line = f"{stage} {progress.done} done"
        line += f" {_clock(progress.elapsed_s)}"
        if progress.done > 0 and progress.elapsed_s > _CLEAR_S:
            line += f", {_rate(progress):.3g}/s"
        if progress.remaining_s >= 0:
            line += f", {_clock(progress.remaining_s)} left"
        if progress.worst:
            line += f", worst {progress.worst} {progress.worst_score:.4g}"
        return line

    def note(self, text: str) -> None:
        """Writes a line of its own."""
        self.close()
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Ends the line."""
        if self._drawn:
            self._stream.write("\n")
            self._stream.flush()
            self._drawn = 0

    def _draw(self, line: str) -> None:
        # Spaces wipe what a longer line left behind.
        self._stream.write("\r" + line.ljust(self._drawn))
        self._stream.flush()
        self._drawn = len(line)


def _in_notebook() -> bool:
    # Its streams are no terminals, but draw over a line all the same.
    return "ipykernel" in sys.modules


def resolve(progress: bool | ProgressCallback | None) -> ProgressCallback | None:
    """The function to call: None draws on a terminal or in a notebook only, True always, False never."""
    if progress is None:
        progress = sys.stderr.isatty() or _in_notebook()
    if isinstance(progress, bool):
        return TextProgress() if progress else None
    return progress
