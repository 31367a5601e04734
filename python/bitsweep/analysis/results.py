"""Scores on file: JSON that keeps their order."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from bitsweep import _core
from bitsweep.errors import InvalidDataError, NotFoundError, error

__all__ = ["load_sensitivity_results", "save_sensitivity_results"]


def save_sensitivity_results(
    scores: Mapping[str, float],
    save_path: str | os.PathLike[str] = "./sensitivity_results.json",
    details: Mapping[str, str] | None = None,
) -> None:
    """Writes scores as JSON, in the order given: ``{"ranking": [{"rank", "name", "score"[, "detail"]}]}``.

    Parameters
    ----------
    scores : mapping of str to float
        Result of an analysis, most sensitive first.
    save_path : path
        File to write; an existing one is replaced.
    details : mapping of str to str, optional
        A text for some of the names.

    Raises
    ------
    OSError
        When the file cannot be written.

    Examples
    --------
    >>> save_sensitivity_results({"conv1": 31.5}, "results.json")  # doctest: +SKIP
    """
    ranking: list[dict[str, int | float | str]] = []
    for rank, (name, score) in enumerate(scores.items(), start=1):
        row: dict[str, int | float | str] = {"rank": rank, "name": name, "score": float(score)}
        if details is not None and name in details:
            row["detail"] = details[name]
        ranking.append(row)
    text = json.dumps({"ranking": ranking}, indent=2, ensure_ascii=False)
    _core.write_text_file(Path(save_path), text + "\n")


def load_sensitivity_results(input_path: str | os.PathLike[str]) -> dict[str, float]:
    """Reads scores that ``save_sensitivity_results`` wrote, in their order.

    Parameters
    ----------
    input_path : path

    Returns
    -------
    dict of str to float

    Raises
    ------
    FileNotFoundError
        When there is no such file.
    ValueError
        When it holds something else.

    Examples
    --------
    >>> load_sensitivity_results("results.json")  # doctest: +SKIP
    {'conv1': 31.5}
    """
    path = Path(input_path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return {str(row["name"]): float(row["score"]) for row in document["ranking"]}
    except FileNotFoundError as e:
        raise error(
            NotFoundError,
            "load_sensitivity_results",
            f"there is no file {path}",
            "check the path",
        ) from e
    except (ValueError, KeyError, TypeError) as e:
        raise error(
            InvalidDataError,
            "load_sensitivity_results",
            f"{path} holds no sensitivity ranking ({type(e).__name__}: {e})",
            "pass a file that save_sensitivity_results wrote",
        ) from e
