"""Ranges of all quantizers as pages that open offline."""

from __future__ import annotations

import os
from collections.abc import Iterable

from bitsweep import _core
from bitsweep.analysis.plot import check_page_path
from bitsweep.errors import NotReadyError, error
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["visualize_stats"]


def visualize_stats(
    sim: QuantizationSimModel,
    save_path: str | os.PathLike[str] = "./quant_stats_visualization.html",
) -> None:
    """Writes the ranges of the enabled quantizers: ``<name>_activations.html`` and ``<name>_weights.html``.

    An entry is a quantizer with its smallest and largest bound over all channels, in tensor units. A page without
    entries is not written.

    Parameters
    ----------
    sim : QuantizationSimModel
        Calibrated simulation.
    save_path : path
        Must end in ``.html``; its folder must exist.

    Raises
    ------
    NotADirectoryError
        When the folder does not exist.
    ValueError
        For another suffix.
    RuntimeError
        When no enabled quantizer has an encoding.

    Examples
    --------
    >>> visualize_stats(sim, "ranges.html")  # doctest: +SKIP
    """
    if not isinstance(sim, QuantizationSimModel):
        raise TypeError(
            f"visualize_stats: a QuantizationSimModel is needed, not {type(sim).__name__}"
        )
    path = check_page_path(save_path, "visualize_stats")
    pages = {
        kind: (title, _ranges(sim, names))
        for kind, title, names in (
            ("activation", "Ranges of activation quantizers", sim.activation_names),
            ("weight", "Ranges of weight quantizers", sim.param_names),
        )
    }
    if not any(entries for _, entries in pages.values()):
        raise error(
            NotReadyError,
            "visualize_stats",
            "no enabled quantizer has an encoding",
            "calibrate with sim.compute_encodings first",
        )
    for kind, (title, entries) in pages.items():
        if entries:
            page = path.with_name(f"{path.stem}_{kind}s.html")
            _core.write_ranges_page(page, title=title, kind=kind, entries=entries)


def _ranges(sim: QuantizationSimModel, names: Iterable[str]) -> list[tuple[str, float, float]]:
    entries = []
    for name in names:
        quantizer = sim.qc_quantize_op_dict[name]
        encodings = quantizer.get_encodings() if quantizer.enabled else None
        if encodings:
            entries.append((name, min(e.min for e in encodings), max(e.max for e in encodings)))
    return entries
