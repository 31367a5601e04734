"""Mixed precision in two steps: measure the precisions once, then choose as often as wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bitsweep import _core, _encodings_file
from bitsweep._amp_evaluator import SearchEvaluator
from bitsweep._group_scores import restored_switches
from bitsweep.common.defs import int8, int16, qtype
from bitsweep.data import Feed, as_feeds
from bitsweep.errors import InvalidArgumentError, InvalidDataError, NotReadyError, error
from bitsweep.quantsim import QuantizationSimModel

__all__ = [
    "Precision",
    "Sensitivity",
    "analyze_mixed_precision_sensitivity",
    "apply_amp",
    "w8a8",
    "w8a16",
    "w16a16",
]

#: ``(type of parameters, type of activations)``
Precision = tuple[qtype, qtype]
#: Scores by tensor, and encodings by tensor in the form of encodings files of version 1.0.0.
Sensitivity = tuple[dict[str, float], dict[str, dict[str, Any]]]

w8a8: Precision = (int8, int8)
w8a16: Precision = (int8, int16)
w16a16: Precision = (int16, int16)


def analyze_mixed_precision_sensitivity(
    sim: QuantizationSimModel,
    precisions: Sequence[Precision],
    eval_fn: Callable[[Any], Any],
    calibration_input: Iterable[Feed] | Callable[[Any], Any],
) -> dict[str, Sensitivity]:
    """Scores every quantizer group alone in each precision.

    The simulation is left in the last precision, calibrated. When a function raises, every quantizer is as before.

    Parameters
    ----------
    sim : QuantizationSimModel
        Changed in place; need not be calibrated.
    precisions : list of (parameter type, activation type)
        Such as ``[w8a8, w8a16]``.
    eval_fn : callable
        ``session -> float``, higher is better.
    calibration_input : iterable of dict, or callable
        Samples, or a function that runs them through the session.

    Returns
    -------
    dict of str to (scores, encodings)
        By ``"<parameter type>,<activation type>"``; can be written as JSON and given to :func:`apply_amp` later.

    Examples
    --------
    >>> result = analyze_mixed_precision_sensitivity(sim, [w8a8, w16a16], score, samples)  # doctest: +SKIP
    """
    where = "analyze_mixed_precision_sensitivity"
    wanted = [_precision(p, where) for p in precisions]
    if not wanted:
        raise error(InvalidArgumentError, where, "no precision is given", "pass at least one pair")
    if callable(calibration_input):
        forward = calibration_input
    else:
        feeds = as_feeds(calibration_input, where)

        def forward(session: Any) -> None:
            for feed in feeds:
                session.run(None, feed)

    evaluator = SearchEvaluator(sim, eval_fn, eval_fn, forward, names=("eval_fn", "eval_fn"))
    result: dict[str, Sensitivity] = {}
    for parameter, activation in wanted:
        candidate = _core.Candidate(activation.format, parameter.format)
        groups, scores = _core.isolated_scores(sim.native, candidate, evaluator)
        by_tensor = {
            name: score
            for group, score in zip(groups, scores, strict=True)
            for name in (*group.activations, *group.parameters)
        }
        text = json.loads(_core.encodings_text(sim.native, "1.0.0", False))
        encodings = {
            entry["name"]: {k: v for k, v in entry.items() if k != "name"}
            for kind in ("param_encodings", "activation_encodings")
            for entry in text[kind]
        }
        result[f"{parameter},{activation}"] = (by_tensor, encodings)
    return result


def apply_amp(
    sim: QuantizationSimModel,
    sensitivity_dict: Mapping[str, Sequence[Any]],
    acceptance_fn: Callable[[Any], Any],
) -> None:
    """Lowers one group after the other, least sensitive first, as far as the function accepts the model.

    Nothing is calibrated: encodings come from the analysis. When even the highest precision is not accepted, it stays.

    Parameters
    ----------
    sim : QuantizationSimModel
        Changed in place.
    sensitivity_dict : dict
        What :func:`analyze_mixed_precision_sensitivity` returned for this model.
    acceptance_fn : callable
        ``session -> bool``.

    Raises
    ------
    RuntimeError
        When an enabled quantizer has no stored encoding of its width.
    ValueError
        When the results belong to another model, or when the float model is not accepted.

    Examples
    --------
    >>> apply_amp(sim, result, lambda session: accuracy(session) > 0.7)  # doctest: +SKIP
    """
    stored = _Stored(sim, sensitivity_dict, acceptance_fn)
    _core.greedy_search(
        sim.native,
        stored.candidates,
        stored,
        0.5,  # between yes and no
        search="binary",
        ignore_kernels=True,
        baseline_by_bits=True,
    )


class _Stored(SearchEvaluator):
    """Scores and encodings of an analysis."""

    def __init__(
        self,
        sim: QuantizationSimModel,
        results: Mapping[str, Sequence[Any]],
        acceptance: Callable[[Any], Any],
    ) -> None:
        super().__init__(sim, acceptance, acceptance, _no_samples, names=("acceptance_fn",) * 2)
        self._results = {key: (value[0], value[1]) for key, value in results.items()}
        self.candidates = [_parsed(key) for key in self._results]
        self._has_seen_float = False

    def load_encodings(self) -> bool:
        quantizers = self._sim.qc_quantize_op_dict
        parameters = set(self._sim.param_names)
        file: dict[str, Any] = {
            "version": "1.0.0",
            "param_encodings": [],
            "activation_encodings": [],
        }
        missing = []
        for name, quantizer in quantizers.items():
            native = quantizer.native
            if not native.enabled or not native.format.needs_encoding:
                continue
            entry = self._entry(name, native)
            if entry is not None:
                kind = "param_encodings" if name in parameters else "activation_encodings"
                file[kind].append({"name": name, **entry})
            elif name in parameters:
                missing.append(name)
            else:
                raise error(
                    NotReadyError,
                    "apply_amp",
                    f'the analysis has no {native.format.name} encoding of "{name}"',
                    "analyse a precision that has it",
                )
        _encodings_file.load(self._sim.native, file, strict=False, disable_missing=False)
        self._calibrate_parameters(missing)
        return True

    def _entry(self, name: str, native: _core.Quantizer) -> dict[str, Any] | None:
        """The stored encoding in the quantizer's present type, of its symmetry if there is a choice."""
        kind = "INT" if native.format.is_integer else "FLOAT"
        fitting: list[dict[str, Any]] = [
            encodings[name]
            for _, encodings in self._results.values()
            if name in encodings
            and encodings[name]["bw"] == native.format.bitwidth
            and encodings[name]["dtype"] == kind
        ]
        same = [e for e in fitting if e.get("is_sym") == native.symmetric]
        return next(iter((*same, *fitting)), None)

    def _calibrate_parameters(self, names: list[str]) -> None:
        """Weights need no samples."""
        if not names:
            return
        with restored_switches(self._sim):
            for name, quantizer in self._sim.qc_quantize_op_dict.items():
                quantizer.enabled = name in names
            self._sim.native.begin_calibration()
            self._sim.native.finish_calibration()

    def score_phase2(self) -> float:
        accepted = bool(self._phase2(self._sim.session))
        if not self._has_seen_float and not accepted:
            raise error(
                InvalidArgumentError,
                "apply_amp",
                "acceptance_fn does not accept the float model",
                "ask for less than that scores",
            )
        self._has_seen_float = True
        return float(accepted)

    def recall(self, identity: str) -> tuple[list[_core.GreedyEntry], list[_core.GreedyPoint]]:
        entries = []
        for candidate, (scores, _) in zip(self.candidates, self._results.values(), strict=True):
            for g, group in enumerate(self._groups):
                names = (*group.activations, *group.parameters)
                known = [scores[n] for n in names if n in scores]
                if len(known) < len(names):
                    raise error(
                        InvalidDataError,
                        "apply_amp",
                        f'the analysis has no score of "{next(n for n in names if n not in scores)}"',
                        "analyse the same model with the same quantizers enabled",
                    )
                entries.append(_core.GreedyEntry(g, candidate, float(min(known)), 0.0))
        return entries, []


def _no_samples(session: Any) -> None:
    """Encodings are loaded, never calibrated."""


def _precision(value: Any, where: str) -> Precision:
    try:
        parameter, activation = value
    except (TypeError, ValueError):
        raise error(
            InvalidArgumentError,
            where,
            f"{value!r} is no precision",
            "write (parameter type, activation type), such as (int8, int16)",
        ) from None
    return qtype.as_qtype(parameter), qtype.as_qtype(activation)


def _parsed(key: str) -> _core.Candidate:
    parameter, activation = _precision(key.split(","), "apply_amp")
    return _core.Candidate(activation.format, parameter.format)
