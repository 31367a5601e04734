"""Exceptions of the package: one sentence with what happened, where, and how to fix it.

Every class is a :class:`Error`, which is a ``ValueError``. The sub-classes also derive from the built-in class that
callers expect for their kind of trouble, so that ``except RuntimeError`` or ``except FileNotFoundError`` works.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

__all__ = [
    "CancelledError",
    "Error",
    "InvalidArgumentError",
    "InvalidDataError",
    "InvalidModelError",
    "IoError",
    "NotFoundError",
    "NotReadyError",
    "OnnxRuntimeError",
]


class Error(ValueError):
    """Base class of all errors of bitsweep.

    Attributes
    ----------
    where : str
        Part of the library that found the trouble.
    fix : str
        What the caller can do about it.

    Examples
    --------
    >>> from bitsweep import Error
    >>> issubclass(Error, ValueError)
    True
    """

    where: str = ""
    fix: str = ""


class InvalidArgumentError(Error):
    """The caller asked for something that makes no sense."""


class InvalidModelError(Error, RuntimeError):
    """The ONNX model is broken or not supported."""


class InvalidDataError(Error):
    """Samples do not fit the model or hold bad values."""


class NotFoundError(Error, FileNotFoundError):
    """A file, tensor or name does not exist."""


class IoError(Error, OSError):
    """Reading or writing failed."""


class OnnxRuntimeError(Error, RuntimeError):
    """ONNX Runtime refused the model or failed."""


class NotReadyError(Error, RuntimeError):
    """The object is not in the state that the call needs, e.g. not calibrated."""


class CancelledError(KeyboardInterrupt):
    """The user interrupted the work; not an :class:`Error`, so that ``except ValueError`` does not swallow it."""

    where: str = ""
    fix: str = ""


def require_one_of(where: str, what: str, value: object, known: Sequence[str]) -> None:
    """Raises an :class:`InvalidArgumentError` that suggests the closest name for a `value` that is not `known`."""
    if value in known:
        return
    near = difflib.get_close_matches(str(value), known, n=1)
    hint = f'did you mean "{near[0]}"? ' if near else ""
    raise error(
        InvalidArgumentError,
        where,
        f'no {what} is named "{value}"',
        f"{hint}use one of: {', '.join(known)}",
    )


def error(kind: type[Error], where: str, what: str, fix: str) -> Error:
    """Exception of class `kind` whose text reads "where: what; fix", as those of the native part do."""
    exception = kind(f"{where}: {what}; {fix}")
    exception.where = where
    exception.fix = fix
    return exception
