"""Scores as one HTML page that opens offline."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bitsweep import _core
from bitsweep.analysis.metrics import SensitivityMetric
from bitsweep.errors import InvalidArgumentError, error

__all__ = ["save_sensitivity_plot"]


def check_page_path(save_path: str | os.PathLike[str], where: str) -> Path:
    """The path of a page to write.

    Raises
    ------
    NotADirectoryError
        When its folder does not exist.
    ValueError
        When it does not end in ``.html``.
    """
    path = Path(save_path)
    if not path.parent.is_dir():
        raise NotADirectoryError(
            f"{where}: {path.parent} is not a folder; make it first, or choose another path"
        )
    if path.suffix != ".html":
        raise error(
            InvalidArgumentError, where, f'"{path.name}" does not end in .html', "name it so"
        )
    return path


def save_sensitivity_plot(
    scores: Mapping[str, float],
    metric: SensitivityMetric,
    save_path: str | os.PathLike[str] = "./sensitivity_plot.html",
    highlight_patterns: Sequence[str] | None = None,
    details: Mapping[str, str] | None = None,
    details_label: str = "Details",
) -> None:
    """Writes an interactive page: scores as line and markers, a threshold with its table, highlight toggles.

    Parameters
    ----------
    scores : mapping of str to float
        Result of an analysis; its order is that of the x axis. The rank (1 = most sensitive) is worked out from the
        metric's direction.
    metric : SensitivityMetric
        Names the y axis.
    save_path : path
        Must end in ``.html``; its folder must exist.
    highlight_patterns : sequence of str, optional
        Parts of names, one toggle each. Default: projection weights of transformers.
    details : mapping of str to str, optional
        A text for some of the names, shown in a column of its own.
    details_label : str
        Title of that column.

    Raises
    ------
    NotADirectoryError
        When the folder does not exist.
    ValueError
        For another suffix, or without scores.

    Examples
    --------
    >>> save_sensitivity_plot(scores, metric, "sensitivity.html")  # doctest: +SKIP
    """
    path = check_page_path(save_path, "save_sensitivity_plot")
    if not scores:
        raise error(
            InvalidArgumentError,
            "save_sensitivity_plot",
            "there are no scores",
            "pass the result of an analysis",
        )
    if highlight_patterns is None:
        highlight_patterns = _core.default_highlight_patterns()
    _core.write_sensitivity_page(
        path,
        title=f"Quantization Sensitivity ({metric.name})",
        metric=metric.name,
        higher_is_worse=metric.higher_is_worse,
        scores=[(name, float(score)) for name, score in scores.items()],
        highlight_patterns=list(highlight_patterns),
        details_label=details_label if details else "",
        details=[details.get(name, "") for name in scores] if details else [],
    )
