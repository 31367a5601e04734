"""Evaluation functions that compare a simulated session with the float one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from bitsweep._evaluators import Evaluator, PsnrEvaluator
from bitsweep.data import Feed
from bitsweep.errors import InvalidArgumentError, InvalidModelError, error

__all__ = ["float_output_indices", "make_psnr_eval_fn"]

_UNSET: Any = object()


def float_output_indices(session: Any) -> list[int]:
    """Positions of the outputs that are float32 or float16.

    Raises
    ------
    RuntimeError
        When there is none.
    """
    types = [o.type for o in session.get_outputs()]
    indices = [i for i, t in enumerate(types) if t in ("tensor(float)", "tensor(float16)")]
    if not indices:
        raise error(
            InvalidModelError,
            "make_psnr_eval_fn",
            f"no output of the model is float32 or float16 (types: {', '.join(types)})",
            "use a metric of your own",
        )
    return indices


def make_psnr_eval_fn(
    fp_session: Any,
    inputs: Iterable[Feed],
    output_indices: int | Sequence[int] | None = _UNSET,
) -> Evaluator:
    """Evaluation function: PSNR of a session's outputs against those of the float session, in dB.

    The float outputs are taken at once. Per output, all samples count as one array (samples may differ in shape); the
    result is that of the worst output, within +-100 dB.

    Parameters
    ----------
    fp_session : InferenceSession
        Session of the float model: anything with ``run(None, feed)`` and ``get_outputs()``.
    inputs : iterable of dict of str to ndarray
        Samples; a generator is consumed once.
    output_indices : int or sequence of int, optional
        Outputs to compare. Default: all that are float32 or float16.

    Returns
    -------
    callable
        ``session -> float``. A sensitivity sweep recognises it and computes the same scores natively.

    Raises
    ------
    RuntimeError
        When the model has no float output.
    ValueError
        Without samples, for an index out of range, or when the float outputs hold NaN or infinite values.

    Examples
    --------
    >>> eval_fn = make_psnr_eval_fn(fp_session, feeds)  # doctest: +SKIP
    >>> eval_fn(sim.session)  # doctest: +SKIP
    38.2
    """
    indices: list[int]
    if output_indices is _UNSET or output_indices is None:
        indices = float_output_indices(fp_session)
        if output_indices is _UNSET and indices != [0]:
            warnings.warn(
                f"make_psnr_eval_fn: the worst of the outputs {indices} counts; "
                "pass output_indices=0 for the first one, or None to silence this",
                stacklevel=2,
            )
    else:
        indices = [output_indices] if isinstance(output_indices, int) else list(output_indices)
    count = len(fp_session.get_outputs())
    for i in indices:
        if not -count <= i < count:
            raise error(
                InvalidArgumentError,
                "make_psnr_eval_fn",
                f"there is no output {i}, as the model has {count}",
                f"use indices from 0 to {count - 1}",
            )
    return PsnrEvaluator(fp_session, inputs, [i % count for i in indices])
