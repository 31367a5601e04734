"""What the analyzer leaves in its folder: JSON for programs, pages for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bitsweep import _core
from bitsweep.qc_quantize_op import QcQuantizeOp
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["NamedQuantizer", "named_quantizers", "write_histograms", "write_layers", "write_ranges"]


@dataclass(frozen=True)
class NamedQuantizer:
    """An enabled quantizer under the name that the analyzer's files give it."""

    kind: str  # "weight" or "activation"
    layer: str
    part: str  # "input_0", "output_1", "weight", "bias" ...
    quantizer: QcQuantizeOp

    @property
    def name(self) -> str:
        """Layer and part."""
        return f"{self.layer}_{self.part}"


class _Names:
    """File names of layers: other characters than letters, digits and _ become one _; no two layers share a name."""

    def __init__(self) -> None:
        self._owner: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The same name for the same layer."""
        plain = re.sub(r"\W+", "_", name)
        candidate, number = plain, 2
        while self._owner.setdefault(candidate, name) != name:
            candidate, number = f"{plain}_{number}", number + 1
        return candidate


def named_quantizers(sim: QuantizationSimModel) -> Iterator[NamedQuantizer]:
    """Enabled quantizers of all operators in topological order, each once per operator."""
    names = _Names()
    for op in sim.operators:
        layer = names.of(op.name)
        inputs, outputs, parameters = sim.get_op_quantizers(op)
        for prefix, quantizers in (("input", inputs), ("output", outputs)):
            for i, q in enumerate(quantizers):
                if q.enabled:
                    yield NamedQuantizer("activation", layer, f"{prefix}_{i}", q)
        for part, q in parameters.items():
            if q.enabled:
                yield NamedQuantizer("weight", layer, part, q)


def write_json(path: Path, content: object) -> None:
    """JSON, indented by 4 as the peer's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _core.write_text_file(path, json.dumps(content, indent=4, ensure_ascii=False) + "\n")


def write_layers(folder: Path, name: str, title: str, scores: Mapping[str, float], of: str) -> None:
    """``<name>.json`` and ``<name>.html``: one value per layer."""
    write_json(folder / f"{name}.json", dict(scores))
    _core.write_lines_page(
        folder / f"{name}.html", title=title, values=list(scores.items()), value_label=of
    )


def write_ranges(folder: Path, sim: QuantizationSimModel) -> None:
    """Ranges of all encodings: JSON of weights and of activations, a page of each, one per per-channel parameter."""
    content: dict[str, dict[str, object]] = {"weight": {}, "activation": {}}
    pages: dict[str, list[tuple[str, float, float]]] = {"weight": [], "activation": []}
    folder.mkdir(parents=True, exist_ok=True)
    for named in named_quantizers(sim):
        encodings = named.quantizer.get_encodings() or []
        ranges = {
            f"{named.name}_{i}": [e.min, e.max] for i, e in enumerate(encodings)
        }  # by channel
        if len(encodings) == 1:
            content[named.kind][named.name] = [encodings[0].min, encodings[0].max]
            pages[named.kind].append((named.name, encodings[0].min, encodings[0].max))
        elif ranges:
            content[named.kind][named.name] = ranges
            _core.write_ranges_page(
                folder / f"{named.name}.html",
                title=f"Ranges of {named.name}",
                kind="channel",
                entries=[(name, low, high) for name, (low, high) in ranges.items()],
            )
    for kind, entries in pages.items():
        write_json(folder / f"{kind}s.json", content[kind])
        if entries:
            _core.write_ranges_page(
                folder / f"{kind}s.html",
                title=f"Ranges of {kind} quantizers",
                kind=kind,
                entries=entries,
            )


def write_histograms(folder: Path, sim: QuantizationSimModel) -> None:
    """One page per quantizer with a histogram: its channels or blocks, with the ends of the encodings."""
    for named in named_quantizers(sim):
        encodings = named.quantizer.get_encodings()
        if not encodings:
            continue
        if named.kind == "weight":
            path = folder / "weights_pdf" / named.layer / f"{named.name}.html"
        else:
            path = (
                folder / "activations_pdf" / f"{named.layer}_{named.part.replace('_', '_q')}.html"
            )
        histograms = zip(named.quantizer.get_stats_histogram(), encodings, strict=True)
        entries = [
            (f"{named.name}_{i}", buckets, e.min, e.max)
            for i, (buckets, e) in enumerate(histograms)
            if buckets
        ]
        if entries:
            path.parent.mkdir(parents=True, exist_ok=True)
            _core.write_histograms_page(path, title=f"Values of {named.name}", entries=entries)
