"""Samples: dicts of arrays, one after another, that can be gone through more than once."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bitsweep import _core
from bitsweep.errors import InvalidDataError, error

__all__ = ["Feed", "Samples", "as_feeds", "open_samples"]

Feed = Mapping[str, Any]


def check_iterable(inputs: object, where: str) -> None:
    """Refuses a single feed, and what cannot be iterated, with a sentence."""
    if isinstance(inputs, Mapping):
        raise error(
            InvalidDataError,
            where,
            "the inputs are one dict, not a series of dicts",
            "pass a list: [feed]",
        )
    if not isinstance(inputs, Iterable):
        raise error(
            InvalidDataError,
            where,
            f"a {type(inputs).__name__} holds no samples",
            "pass an iterable of {input name: array}",
        )


class Samples:
    """An iterable of feeds that can be repeated.

    Lists and data loaders are gone through anew each time. A generator is consumed once; what it gave is kept, so that
    the second time gives the same samples.

    Parameters
    ----------
    inputs : iterable of dict of str to array
        The samples.

    Examples
    --------
    >>> from bitsweep.data import Samples
    >>> samples = Samples({"x": i} for i in range(2))
    >>> list(samples) == list(samples)
    True
    """

    def __init__(self, inputs: Iterable[Feed]) -> None:
        check_iterable(inputs, "samples")
        self._source = inputs
        self._once: Iterator[Feed] | None = inputs if isinstance(inputs, Iterator) else None
        self._kept: list[Feed] = []

    def __length_hint__(self) -> int:
        """Number of samples where it is known, for the time left."""
        size = -1 if self._once is not None else operator.length_hint(self._source, -1)
        return size if size >= 0 else NotImplemented

    def __iter__(self) -> Iterator[Feed]:
        if self._once is None:
            yield from self._source
            return
        i = 0
        while True:
            if i == len(self._kept):
                item = next(self._once, None)
                if item is None:
                    return
                self._kept.append(item)
            yield self._kept[i]
            i += 1


def as_feeds(inputs: Iterable[Feed], where: str) -> list[dict[str, Any]]:
    """The samples as a list of dicts; a generator is consumed once.

    Raises
    ------
    ValueError
        Without samples, or when an item is not a dict.
    """
    check_iterable(inputs, where)
    feeds = []
    for i, item in enumerate(inputs):
        if not isinstance(item, Mapping):
            raise error(
                InvalidDataError,
                where,
                f"sample {i} is a {type(item).__name__}, not a dict",
                "pass {input name: array} for each sample",
            )
        feeds.append(dict(item))
    if not feeds:
        raise error(InvalidDataError, where, "there are no samples", "pass at least one")
    return feeds


def open_samples(
    path: str | os.PathLike[str], model: Any, *, max_samples: int = -1, batch_size: int = 0
) -> _core.DataSource:
    """Samples from files, as the command line reads them.

    Parameters
    ----------
    path : path
        A ``.npz`` file, a folder of ``.npz`` or ``.npy`` files, or an ONNX test-data folder.
    model : _core.Model, str or Path
        Model whose inputs name the arrays.
    max_samples : int
        Stop after this many; -1: all.
    batch_size : int
        Rows per sample of stacked arrays; 0: the model's fixed first dimension, else 1.

    Returns
    -------
    DataSource
        Iterable of dict of str to ndarray; ``unused()`` lists arrays that name no input, such as labels.

    Raises
    ------
    bitsweep.Error
        Missing or unreadable files, arrays that do not fit the model's inputs, NaN in the data.
    """
    native = model if isinstance(model, _core.Model) else _core.Model.load(Path(model))
    return _core.open_samples(Path(path), native, max_samples=max_samples, batch_size=batch_size)
