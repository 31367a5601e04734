"""Arguments of a wrong type: one sentence with the name, before native code lists every type that it takes."""

from __future__ import annotations

import functools
import inspect
import numbers
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

_NUMBERS: dict[Any, Any] = {int: numbers.Integral, float: numbers.Real, bool: (bool, np.bool_)}


def checked_types(function: Callable[P, R]) -> Callable[P, R]:
    """Compares arguments with the annotations of the function.

    Iterables are left to the function: only sequences are looked into.

    Raises
    ------
    TypeError
        That names the argument.
    """
    signature = inspect.signature(function)

    @functools.cache
    def hints() -> dict[str, Any]:
        return get_type_hints(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = dict(zip(signature.parameters, args, strict=False)) | kwargs
        for name, value in given.items():
            if name in hints() and not _fits(value, hints()[name]):
                raise TypeError(
                    f"{function.__name__}: {name} is {_shown(value)}; "
                    f"it takes {signature.parameters[name].annotation}"
                )
        return function(*args, **kwargs)

    return call


def _fits(value: Any, hint: Any) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is None or hint is types.NoneType:
        return value is None
    if origin in (Union, types.UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return isinstance(value, str)  # which one, the function says better
    if hint in _NUMBERS:
        return isinstance(value, _NUMBERS[hint]) and isinstance(value, bool) <= (hint is bool)
    if origin is tuple:
        return (
            isinstance(value, tuple)
            and len(value) == len(arguments)
            and all(map(_fits, value, arguments))
        )
    if origin is Sequence:
        if isinstance(value, (list, tuple)):
            return all(_fits(one, arguments[0]) for one in value)
        return isinstance(value, Iterable) and not isinstance(value, str)
    plain = origin or hint
    if plain is Iterable or not inspect.isclass(plain):
        return True
    return isinstance(value, plain)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"of the type {type(value).__name__}"
