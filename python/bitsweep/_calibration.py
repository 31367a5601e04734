"""Calibration as a context: what runs inside is observed."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Protocol, TypeVar

from bitsweep import _core


class _Simulated(Protocol):
    @property
    def native(self) -> _core.Simulation: ...


Sim = TypeVar("Sim", bound=_Simulated)


@contextlib.contextmanager
def compute_encodings(sim: Sim) -> Iterator[Sim]:
    """Context in which each run of the session calibrates; the encodings are there when it ends.

    An exception inside puts the old encodings back. Inside another such context it does nothing.

    Parameters
    ----------
    sim : QuantizationSimModel
        Simulation to calibrate.

    Examples
    --------
    >>> with compute_encodings(sim):  # doctest: +SKIP
    ...     sim.session.run(None, {"x": x})
    """
    native = sim.native
    if native.calibrating():
        yield sim
        return
    native.begin_calibration()
    try:
        yield sim
        native.finish_calibration()
    except BaseException:
        if native.calibrating():
            native.abort_calibration()
        raise
    warn_of_non_finite(native)


def warn_of_non_finite(native: _core.Simulation) -> None:
    bad = native.non_finite_counts()
    if bad:
        name, count = bad[0]
        more = f" and {len(bad) - 1} more tensors" if len(bad) > 1 else ""
        warnings.warn(
            f'calibrate: "{name}" ({count} values){more} got NaN or infinite values, which were skipped; '
            "check the input preprocessing",
            stacklevel=3,
        )
