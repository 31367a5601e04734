"""Numbers that compare two arrays."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from bitsweep import _core
from bitsweep.errors import InvalidDataError, error

__all__ = ["compute_psnr"]


def compute_psnr(expected: npt.ArrayLike, actual: npt.ArrayLike, max_psnr: float = 100.0) -> float:
    """Peak signal-to-noise ratio of `actual` against `expected`, in dB.

    ``20 log10(range / rms error)`` with ``range = max(max - min, max|expected|)``, clipped to +-`max_psnr`.

    Parameters
    ----------
    expected, actual : array_like
        Arrays of one shape; compared as float32.
    max_psnr : float
        Clip, in dB.

    Returns
    -------
    float
        PSNR in dB; ``-max_psnr`` (with a warning) when `actual` holds NaN or infinite values.

    Raises
    ------
    ValueError
        When the shapes differ, the arrays are empty, or `expected` holds NaN or infinite values.

    Examples
    --------
    >>> import numpy as np
    >>> from bitsweep.common.utils import compute_psnr
    >>> compute_psnr(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    100.0
    """
    e = np.asarray(expected, dtype=np.float32)
    a = np.asarray(actual, dtype=np.float32)
    if e.shape != a.shape:
        raise error(
            InvalidDataError,
            "compute_psnr",
            f"expected has shape {list(e.shape)} and actual {list(a.shape)}",
            "compare arrays of one shape",
        )
    if not np.isfinite(a).all():
        warnings.warn(
            "compute_psnr: actual holds NaN or infinite values; the result is the worst PSNR",
            stacklevel=2,
        )
    return float(_core.psnr_db(e, a, max_psnr))
