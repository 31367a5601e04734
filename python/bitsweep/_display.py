"""How results show themselves: one line in a terminal, a table in a notebook. The native classes call this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

from bitsweep import _core

_ROWS = 10


def sweep_line(result: _core.SweepResult) -> str:
    """``<SweepResult: sqnr of 24 groups on 8 samples, worst "conv1" at 9.08 dB>``."""
    text = f"{result.metric} of {len(result.scores)} groups on {result.num_samples} samples"
    if result.scores:
        worst = result.scores[0]
        text += f', worst "{worst.name}" at {_score(worst.score, result.unit)}'
    return f"<SweepResult: {text}>"


def sweep_table(result: _core.SweepResult) -> str:
    """The most sensitive groups as HTML."""
    rows = []
    for row in result.scores[:_ROWS]:
        between = (
            f"{_score(row.interval.low, result.unit)} to {_score(row.interval.high, result.unit)}"
            if row.interval
            else ""
        )
        rank = f"{row.rank} ≈" if row.tied_with_next else str(row.rank)
        rows.append((rank, _score(row.score, result.unit), between, row.name))
    title = f"{result.metric} of {len(result.scores)} groups on {result.num_samples} samples"
    if len(result.scores) > _ROWS:
        title += f", the {_ROWS} most sensitive"
    if not result.complete:
        title += "; stopped before its end"
    return _table(title, ("rank", result.metric, "95 % interval", "name"), rows)


def interval_line(interval: _core.ScoreInterval) -> str:
    """``<ScoreInterval: 8.71 to 9.40>``."""
    return f"<ScoreInterval: {interval.low:.4g} to {interval.high:.4g}>"


def stability_line(stability: _core.Stability) -> str:
    """``<Stability: 3 groups after 60 of 240 evaluations, confidence 0.95>``."""
    open_end = "" if stability.settled else ", not all for sure"
    return (
        f"<Stability: {len(stability.selected)} groups after {stability.num_evaluations} of "
        f"{stability.num_without_stopping} evaluations, confidence {stability.confidence:.3g}{open_end}>"
    )


def point_line(point: _core.MixPoint) -> str:
    """``<MixPoint: W8A8 x 12, W8A16 x 3, 35.10 dB at bops 0.62>``."""
    return f"<MixPoint: {_types(point)}, {_quality(point)}>"


def check_line(check: _core.MixCheck) -> str:
    """``<MixCheck: accuracy 0.97, 0.98 in float>``."""
    in_float = (
        "" if check.float_score is None else f", {_score(check.float_score, check.unit)} in float"
    )
    return f"<MixCheck: {check.name} {_score(check.score, check.unit)}{in_float}>"


def group_line(group: _core.QuantizerGroup) -> str:
    """``<QuantizerGroup: activations relu1, parameters conv1.weight>``."""
    parts = [
        f"{kind} {', '.join(names)}"
        for kind, names in (("activations", group.activations), ("parameters", group.parameters))
        if names
    ]
    return f"<QuantizerGroup: {', '.join(parts)}>"


def mix_line(result: _core.MixResult) -> str:
    """``<MixResult: W8A8 x 12, W8A16 x 3, 35.10 dB at bops 0.62>``."""
    if result.chosen is not None:
        return f"<MixResult: {_types(result.chosen)}, {_quality(result.chosen)}>"
    return f"<MixResult: {result.infeasible or f'{len(result.frontier)} points, none chosen'}>"


def mix_table(result: _core.MixResult) -> str:
    """The choice and the curve as HTML."""
    title = result.infeasible or "nothing was asked for, so nothing was chosen"
    if result.chosen is not None:
        title = f"chosen: {_types(result.chosen)}, {_quality(result.chosen)}"
        if result.test_db is not None:
            title += f", {_score(result.test_db, 'dB')} on test samples"
    rows = [
        (
            f"{point.costs[0]:.4g}",
            _score(point.measured_db, "dB"),
            _score(point.predicted_db, "dB"),
            _types(point),
        )
        for point in result.frontier
    ]
    if not rows:
        return f"<p>{escape(title)}</p>"
    return _table(title, (_core.mix_costs()[0][0], "measured", "predicted", "groups"), rows)


def _types(point: _core.MixPoint) -> str:
    counts = Counter(_core.mix_candidate_text(candidate) for candidate in point.by_group)
    return ", ".join(f"{name} x {count}" for name, count in sorted(counts.items()))


def _quality(point: _core.MixPoint) -> str:
    return f"{_score(point.measured_db, 'dB')} at {_core.mix_costs()[0][0]} {point.costs[0]:.3g}"


def _score(value: float, unit: str) -> str:
    number = f"{value:.2f}" if unit == "dB" else f"{value:.4g}"
    return f"{number} {unit}" if unit else number


def _table(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return (
        f"<table><caption>{escape(title)}</caption><thead>{line('th', headers)}</thead><tbody>"
        + "".join(line("td", row) for row in rows)
        + "</tbody></table>"
    )
