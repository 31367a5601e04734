"""One call that measures what quantization does to a model, from the whole down to each tensor."""

from __future__ import annotations

import copy
import itertools
import logging
import operator
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx

from bitsweep import _core
from bitsweep._group_scores import Mode, restored_switches
from bitsweep._model_input import unwrap_proto
from bitsweep.analysis.metrics import SensitivityMetric
from bitsweep.analysis.per_layer import analyze_per_layer_sensitivity
from bitsweep.batch_norm_fold import fold_all_batch_norms_to_weight
from bitsweep.common.defs import QuantScheme, qtype, scheme_name
from bitsweep.data import check_iterable
from bitsweep.errors import InvalidArgumentError, error
from bitsweep.progress import ProgressCallback
from bitsweep.quantsim import QuantizationSimModel

__all__ = ["QuantAnalysis", "QuantAnalyzer", "analyze_per_layer_sensitivity"]

_LOG = logging.getLogger("bitsweep")
_NO_HISTOGRAMS = "min_max"


@dataclass(frozen=True)
class QuantAnalysis:
    """What :meth:`QuantAnalyzer.analyze` found; the same numbers are in the files.

    Attributes
    ----------
    float_score, weights_score, activations_score : float
        What the evaluation function gives the float model, and with only parameters, or only activations, quantized.
    enabled, disabled : dict of str to float
        Node name to score with only its quantizers enabled, and with only its quantizers disabled.
    mse : dict of str to float
        Node name to mean squared error of its output; empty without ``enable_per_layer_mse_loss``.
    """

    float_score: float
    weights_score: float
    activations_score: float
    enabled: dict[str, float]
    disabled: dict[str, float]
    mse: dict[str, float] = field(default_factory=dict)


class QuantAnalyzer:
    """Analyses how sensitive a model is to quantization.

    Parameters
    ----------
    model : ModelProto or path
        Float model. It is read, never changed.
    dummy_input : dict, optional
        Accepted for old scripts; shapes come from the model and its runs.
    forward_pass_callback : callable
        ``session -> anything``: runs representative samples, for calibration. A ``CallbackFunc`` is one.
    eval_callback : callable
        ``session -> float``; or a :class:`~bitsweep.analysis.SensitivityMetric` or ``CallbackFunc``.

    Raises
    ------
    ValueError
        When one of the functions cannot be called.

    Examples
    --------
    >>> analyzer = QuantAnalyzer(model, None, run_samples, accuracy)  # doctest: +SKIP
    >>> analyzer.enable_per_layer_mse_loss(feeds, num_batches=4)  # doctest: +SKIP
    >>> analyzer.analyze(results_dir="analysis").float_score  # doctest: +SKIP
    0.761
    """

    def __init__(
        self,
        model: Any,
        dummy_input: Any,
        forward_pass_callback: Callable[[Any], Any],
        eval_callback: Callable[[Any], Any],
    ) -> None:
        for name, function in (
            ("forward_pass_callback", forward_pass_callback),
            ("eval_callback", eval_callback),
        ):
            if not callable(function):
                raise error(
                    InvalidArgumentError,
                    "QuantAnalyzer",
                    f"{name} is a {type(function).__name__}, which cannot be called",
                    "pass a function that takes a session, or a CallbackFunc",
                )
        del dummy_input
        self._model = model
        self._forward = forward_pass_callback
        self._eval = eval_callback
        self._mse_samples: Iterable[Any] | None = None
        self._num_mse_samples = 0

    def enable_per_layer_mse_loss(
        self, unlabeled_dataset_iterable: Iterable[Any], num_batches: int
    ) -> None:
        """Makes :meth:`analyze` compare the output of each layer with that of the float model.

        Parameters
        ----------
        unlabeled_dataset_iterable : iterable of dict, or of arrays
            Samples: arrays by input name; or, for each sample, one array, or a list of them in the order of the inputs.
        num_batches : int
            How many of them to look at.

        Raises
        ------
        ValueError
            When there are fewer.
        """
        check_iterable(unlabeled_dataset_iterable, "enable_per_layer_mse_loss")
        size = operator.length_hint(unlabeled_dataset_iterable, -1)
        if num_batches < 1 or 0 <= size < num_batches:
            raise error(
                InvalidArgumentError,
                "enable_per_layer_mse_loss",
                f"num_batches is {num_batches}" + (f" of {size}" if size >= 0 else ""),
                "give a number from 1 to that of the samples",
            )
        self._mse_samples = unlabeled_dataset_iterable
        self._num_mse_samples = num_batches

    def analyze(
        self,
        quant_scheme: QuantScheme | str = QuantScheme.post_training_tf_enhanced,
        default_param_bw: int = 8,
        default_activation_bw: int = 8,
        config_file: str | os.PathLike[str] | None = None,
        results_dir: str | os.PathLike[str] = "./tmp/",
        *,
        run_directory: str | os.PathLike[str] | None = None,
        progress: bool | ProgressCallback | None = None,
    ) -> QuantAnalysis:
        """Folds batch norms of a copy, calibrates it, and analyses it.

        Writes to `results_dir`: ``per_layer_quant_enabled`` and ``per_layer_quant_disabled`` (.json, .html), ranges in
        ``min_max_ranges/``, histograms in ``activations_pdf/`` and ``weights_pdf/`` for schemes that keep them, and
        ``per_layer_mse_loss`` after ``enable_per_layer_mse_loss``. Existing files are replaced.

        Parameters
        ----------
        quant_scheme, config_file
            As for ``QuantizationSimModel``.
        default_param_bw, default_activation_bw : int
            Bits of parameters and activations.
        results_dir : path
            Made when missing.
        run_directory, progress
            As for ``analyze_per_quantizer_sensitivity``.

        Returns
        -------
        QuantAnalysis

        Raises
        ------
        RuntimeError
            When the model has nothing to quantize, or ``forward_pass_callback`` ran no sample.
        ValueError
            When ``eval_callback`` returns no number for each of the first layers.
        """
        sim = self.create_quantsim_and_encodings(
            quant_scheme, default_param_bw, default_activation_bw, config_file
        )
        options: dict[str, Any] = {"run_directory": run_directory, "progress": progress}
        scores = self.check_model_sensitivity_to_quantization(sim)
        enabled = self.perform_per_layer_analysis_by_enabling_quantizers(
            sim, results_dir, **options
        )
        disabled = self.perform_per_layer_analysis_by_disabling_quantizers(
            sim, results_dir, **options
        )
        self.export_per_layer_encoding_min_max_range(sim, results_dir)
        if scheme_name(quant_scheme) != _NO_HISTOGRAMS:
            self.export_per_layer_stats_histogram(sim, results_dir)
        mse = {}
        if self._mse_samples is not None:
            mse = self.export_per_layer_mse_loss(sim, results_dir)
        return QuantAnalysis(*scores, enabled, disabled, mse)

    def create_quantsim_and_encodings(
        self,
        quant_scheme: QuantScheme | str,
        default_param_bw: int,
        default_activation_bw: int,
        config_file: str | os.PathLike[str] | None = None,
    ) -> QuantizationSimModel:
        """Calibrated simulation of a copy of the model without its batch norms."""
        proto = (
            onnx.load(os.fspath(self._model))
            if isinstance(self._model, (str, os.PathLike))
            else copy.deepcopy(
                unwrap_proto(self._model, "is no ONNX model", "pass an onnx.ModelProto or a path")
            )
        )
        fold_all_batch_norms_to_weight(proto)
        sim = QuantizationSimModel(
            proto,
            param_type=qtype.int(default_param_bw),
            activation_type=qtype.int(default_activation_bw),
            quant_scheme=quant_scheme,
            config_file=config_file,
        )
        sim.compute_encodings(self._forward)
        return sim

    def check_model_sensitivity_to_quantization(
        self, sim: QuantizationSimModel
    ) -> tuple[float, float, float]:
        """Scores of the float model, with only parameters quantized, and with only activations quantized."""
        parameters = {id(sim.qc_quantize_op_dict[n]) for n in sim.param_names}
        quantizers = [q for q in sim.qc_quantize_op_dict.values() if q.enabled]
        scores = []
        with restored_switches(sim):
            for wanted in (None, True, False):
                for q in quantizers:
                    q.enabled = wanted is not None and (id(q) in parameters) == wanted
                scores.append(float(self._eval(sim.session)))
        for name, score in zip(("float", "weights only", "activations only"), scores, strict=True):
            _LOG.info("score, %s: %s", name, score)
        return scores[0], scores[1], scores[2]

    def perform_per_layer_analysis_by_enabling_quantizers(
        self, sim: QuantizationSimModel, results_dir: str | os.PathLike[str], **options: Any
    ) -> dict[str, float]:
        """Score of each layer with only its quantizers on; written to ``per_layer_quant_enabled``."""
        return self._per_layer(
            sim, results_dir, "per_layer_quant_enabled", "only", "enable_one", options
        )

    def perform_per_layer_analysis_by_disabling_quantizers(
        self, sim: QuantizationSimModel, results_dir: str | os.PathLike[str], **options: Any
    ) -> dict[str, float]:
        """Score of each layer with all quantizers on but its own; written to ``per_layer_quant_disabled``."""
        return self._per_layer(
            sim, results_dir, "per_layer_quant_disabled", "all but", "disable_one", options
        )

    def export_per_layer_encoding_min_max_range(
        self, sim: QuantizationSimModel, results_dir: str | os.PathLike[str]
    ) -> None:
        """Writes the ranges of all encodings to ``min_max_ranges/``."""
        _core.write_quantizer_ranges(sim.native, Path(results_dir))

    def export_per_layer_stats_histogram(
        self, sim: QuantizationSimModel, results_dir: str | os.PathLike[str]
    ) -> None:
        """Writes a page for each quantizer: its histogram and the ends of its encoding.

        Raises
        ------
        RuntimeError
            For a scheme that keeps no histograms (min_max).
        """
        _core.write_quantizer_histograms(sim.native, Path(results_dir))

    def export_per_layer_mse_loss(
        self, sim: QuantizationSimModel, results_dir: str | os.PathLike[str]
    ) -> dict[str, float]:
        """Mean squared error of each layer's output against the float model's, with all quantizers on.

        The mean is over all values of all samples. Written to ``per_layer_mse_loss``.
        """
        names = [i.name for i in sim.session.get_inputs()]
        samples = itertools.islice(self._mse_samples or (), self._num_mse_samples)
        feeds = (_as_feed(sample, names) for sample in samples)
        losses = dict(_core.layer_errors(sim.native, feeds))
        _core.write_layer_values(
            Path(results_dir),
            "per_layer_mse_loss",
            "Error of each layer's output",
            "MSE",
            list(losses.items()),
        )
        return losses

    def _per_layer(
        self,
        sim: QuantizationSimModel,
        results_dir: str | os.PathLike[str],
        name: str,
        which: str,
        mode: Mode,
        options: dict[str, Any],
    ) -> dict[str, float]:
        scores = analyze_per_layer_sensitivity(sim, self._eval, mode=mode, **options)
        label = self._eval.name if isinstance(self._eval, SensitivityMetric) else "Score"
        title = f"Score with {which} one layer quantized"
        _core.write_layer_values(Path(results_dir), name, title, label, list(scores.items()))
        return scores


def _as_feed(sample: Any, names: list[str]) -> dict[str, Any]:
    if hasattr(sample, "keys"):
        return dict(sample)
    arrays = sample if isinstance(sample, (list, tuple)) else [sample]
    return dict(zip(names, arrays, strict=True))
