"""A float ONNX model with live quantizers: build, calibrate, run, change.

The caller's model is never modified. Tensors keep their names, those of the outputs too.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bitsweep import _candidates, _core, _legacy, _ort, _session_options
from bitsweep._calibration import compute_encodings, warn_of_non_finite
from bitsweep._export import ExportMethods
from bitsweep._model_input import to_native_model
from bitsweep._model_view import ModelView
from bitsweep.common.defs import QuantizationDataType, QuantScheme, int8, qtype, scheme_name
from bitsweep.data import Feed, check_iterable
from bitsweep.errors import InvalidArgumentError, NotFoundError, NotReadyError, error
from bitsweep.qc_quantize_op import QcQuantizeOp
from bitsweep.session import Session

__all__ = ["QuantizationSimModel"]

_UNSET: Any = object()


class QuantizationSimModel(ExportMethods):
    """Simulates how a model behaves when its tensors are quantized.

    Parameters
    ----------
    model : ModelProto, path or bytes
        Float model. It is read, never changed.
    param_type, activation_type : qtype or str
        Types of parameters and activations, e.g. ``int8`` or ``"int16"``.
    quant_scheme : QuantScheme or str
        ``"min_max"`` (alias ``"tf"``), ``"tf_enhanced"`` or ``"percentile"``.
    config_file : str or path, optional
        Rules that say which tensors are quantized: an alias such as ``"default"`` or ``"htp_v81"``, or a JSON file.
    dummy_input : dict, optional
        Accepted for old scripts. Shapes and types come from the model and from the first run.
    user_onnx_libs : list of path, optional
        Libraries with custom operators.
    providers : list, optional
        Execution providers of ONNX Runtime; only ``"CPUExecutionProvider"`` is known at present.
    path : path, optional
        Folder for temporary files of models beyond 1.5 GiB; made when missing.
    session_options_kwargs : dict, optional
        Attributes of ``onnxruntime.SessionOptions``. ``intra_op_num_threads`` sets the threads of one run.
        ``graph_optimization_level``: up to ``ORT_ENABLE_EXTENDED`` (the default here) runs of the session give the
        same bits on every machine while an activation has more than 8 bits. Otherwise, and with ``ORT_ENABLE_ALL``,
        they use the memory layouts of this CPU, up to twice as fast for convolutional networks.

    Raises
    ------
    bitsweep.Error
        One sentence with what, where and how to fix: unknown provider or rules, a model that already holds Q/DQ nodes
        (also a RuntimeError), a model that ONNX Runtime refuses.

    Notes
    -----
    The older signature (positional arguments, ``default_param_bw``, ``default_activation_bw``, ``use_cuda`` ...) still
    works, with a DeprecationWarning.

    Examples
    --------
    >>> from bitsweep.quantsim import QuantizationSimModel
    >>> sim = QuantizationSimModel(model)  # doctest: +SKIP
    >>> sim.compute_encodings([{"x": x}])  # doctest: +SKIP
    >>> outputs = sim.session.run(None, {"x": x})  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Any,
        *legacy_args: Any,
        param_type: qtype | str = _UNSET,
        activation_type: qtype | str = _UNSET,
        quant_scheme: QuantScheme | str = _UNSET,
        config_file: str | os.PathLike[str] | None = _UNSET,
        dummy_input: Mapping[str, Any] | None = _UNSET,
        user_onnx_libs: Sequence[str | os.PathLike[str]] | None = _UNSET,
        providers: Sequence[Any] | None = _UNSET,
        path: str | os.PathLike[str] | None = _UNSET,
        session_options_kwargs: Mapping[str, Any] | None = _UNSET,
        **legacy_kwargs: Any,
    ) -> None:
        given: dict[str, Any] = {
            "param_type": param_type,
            "activation_type": activation_type,
            "quant_scheme": quant_scheme,
            "config_file": config_file,
            "dummy_input": dummy_input,
            "user_onnx_libs": user_onnx_libs,
            "providers": providers,
            "path": path,
            "session_options_kwargs": session_options_kwargs,
        }
        given = {k: v for k, v in given.items() if v is not _UNSET}
        given |= _legacy.translate(legacy_args, legacy_kwargs, set(given))
        self._build(model, **given)

    def _build(
        self,
        model: Any,
        *,
        param_type: qtype | str = int8,
        activation_type: qtype | str = int8,
        quant_scheme: QuantScheme | str = QuantScheme.min_max,
        config_file: str | os.PathLike[str] | None = None,
        dummy_input: Mapping[str, Any] | None = None,
        user_onnx_libs: Sequence[str | os.PathLike[str]] | None = None,
        providers: Sequence[Any] | None = None,
        path: str | os.PathLike[str] | None = None,
        session_options_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if path is not None:
            Path(path).mkdir(parents=True, exist_ok=True)
        self._adopt(
            _core.Simulation(
                to_native_model(model, path),
                parameter_format=qtype.as_qtype(param_type).format,
                activation_format=qtype.as_qtype(activation_type).format,
                scheme=scheme_name(quant_scheme),
                rules="default" if config_file is None else os.fspath(config_file),
                providers=_session_options.provider_names(providers),
                num_threads=_session_options.num_threads(session_options_kwargs or {}),
                portable_runs=_session_options.portable_runs(session_options_kwargs or {}),
                ort_library=_ort.library_path(),
                custom_op_libraries=[Path(lib) for lib in user_onnx_libs or ()],
            )
        )

    def _adopt(self, simulation: _core.Simulation) -> None:
        self._simulation = simulation
        self._session = Session(self._simulation)
        self._quantizers = _wrap_quantizers(self._simulation)
        self._produced = {t for op in self._simulation.operators() for t in op.outputs}

    # -- what is there -------------------------------------------------------------------------------------------
    @property
    def native(self) -> _core.Simulation:
        """The object of the native part."""
        return self._simulation

    @property
    def session(self) -> Session:
        """The simulated model, to be run like an ``onnxruntime.InferenceSession``."""
        return self._session

    @property
    def model(self) -> ModelView:
        """The float model; ``sim.model.model`` is a ModelProto of its own."""
        return ModelView(self._simulation.model)

    @property
    def qc_quantize_op_dict(self) -> dict[str, QcQuantizeOp]:
        """Tensor name to live quantizer, parameters first. Tied tensors share one object."""
        return self._quantizers

    @property
    def param_names(self) -> list[str]:
        """Parameters with a quantizer."""
        return self._simulation.parameter_names()

    @property
    def activation_names(self) -> list[str]:
        """Activations with a quantizer, inputs and constants of operators included."""
        return self._simulation.activation_names()

    @property
    def input_quantizers_name(self) -> list[str]:
        """Activations that no operator produces."""
        return self._simulation.input_quantizer_names()

    @property
    def operators(self) -> list[_core.OperatorInfo]:
        """Operators in topological order, with their tensors and parameters."""
        return self._simulation.operators()

    def describe(self) -> list[_core.TensorReport]:
        """Every tensor with what is done to it and which rule decided: quantized, tied, off or left in float."""
        return self._simulation.describe()

    def get_qc_quantize_op(self) -> dict[str, QcQuantizeOp]:
        """Same as :attr:`qc_quantize_op_dict`."""
        return self._quantizers

    def get_op_quantizers(
        self, op: Any
    ) -> tuple[list[QcQuantizeOp], list[QcQuantizeOp], dict[str, QcQuantizeOp]]:
        """Quantizers of an operator.

        Parameters
        ----------
        op : str or object with a name
            Name of the node; of an operator that stands for several nodes, "first+last" or the peer's
            ``node_<type>_<number>``.

        Returns
        -------
        inputs : list
            Those of inputs that no operator produces and that are no parameters.
        outputs : list
        parameters : dict of kind to quantizer
            E.g. ``{"weight": ..., "bias": ...}``.

        Raises
        ------
        KeyError
            When there is no such operator.
        """
        found = _find_operator(self.operators, op if isinstance(op, str) else op.name)
        parameters = dict(found.parameters)
        quantizers = self._quantizers
        inputs = [
            quantizers[t]
            for t in found.inputs
            if t in quantizers and t not in parameters and t not in self._produced
        ]
        outputs = [quantizers[t] for t in found.outputs if t in quantizers]
        by_kind = {kind: quantizers[t] for t, kind in parameters.items() if t in quantizers}
        return inputs, outputs, by_kind

    def get_all_quantizers(self) -> tuple[list[QcQuantizeOp], list[QcQuantizeOp]]:
        """Quantizers of all parameters, and of all activations."""
        q = self._quantizers
        return [q[n] for n in self.param_names], [q[n] for n in self.activation_names]

    # -- calibration ---------------------------------------------------------------------------------------------
    def compute_encodings(
        self,
        inputs: Iterable[Feed] | Callable[..., Any] | None = None,
        forward_pass_callback_args: Any = _UNSET,
        *,
        forward_pass_callback: Callable[..., Any] | None = None,
    ) -> None:
        """Calibrates the enabled quantizers: runs samples, then turns what was seen into encodings.

        Activations are observed behind quantized weights and in front of activation quantizers. After an exception the
        old encodings are in place again.

        Parameters
        ----------
        inputs : iterable of dict, or callable
            Samples; or a function that gets the session and runs it as it likes.
        forward_pass_callback_args : object, optional
            Older form: second argument of the function.
        forward_pass_callback : callable, optional
            The function under its older name.

        Raises
        ------
        RuntimeError
            When no sample was run.
        ValueError
            When a sample does not fit the model.

        Examples
        --------
        >>> sim.compute_encodings([{"x": x} for x in batches])  # doctest: +SKIP
        """
        if (inputs is None) == (forward_pass_callback is None):
            raise TypeError("compute_encodings: pass either samples or a function")
        source: Any = forward_pass_callback if inputs is None else inputs
        if not callable(source) or isinstance(source, Iterable):
            if forward_pass_callback_args is not _UNSET:
                raise TypeError("compute_encodings: an argument needs a function in front of it")
            check_iterable(source, "compute_encodings")
            if self._simulation.calibrating():
                for feed in source:
                    self._session.run(None, feed)
                return
            self._simulation.calibrate(source)
            warn_of_non_finite(self._simulation)
            return
        arguments: tuple[Any, ...] = ()
        if forward_pass_callback_args is not _UNSET:
            warnings.warn(
                "compute_encodings: the argument of the function is deprecated; pass a function of the session alone",
                DeprecationWarning,
                stacklevel=2,
            )
            arguments = (forward_pass_callback_args,)
        with compute_encodings(self):
            source(self._session, *arguments)

    # -- changes -------------------------------------------------------------------------------------------------
    def set_tensor_precision(
        self, names: str | Iterable[str], precision: qtype | str, *, strict: bool = True
    ) -> None:
        """Changes the type of the quantizers that decide the values of tensors; calibrate again afterwards.

        A tensor behind data movement (Reshape, Transpose ...) gets its grid from upstream, so that quantizer changes.
        Operators that need it have other quantizers follow: norm weights and the operands of MatMul.

        Parameters
        ----------
        names : str or iterable of str
            Tensors.
        precision : qtype or str
            New type.
        strict : bool
            False skips tensors that do not exist or have no enabled quantizer.

        Raises
        ------
        ValueError
            When strict, for such a tensor; nothing is changed then.

        Examples
        --------
        >>> sim.set_tensor_precision("logits", "int16")  # doctest: +SKIP
        """
        found = []
        for name in [names] if isinstance(names, str) else names:
            try:
                owner = self._simulation.effective_tensor(name)
            except NotFoundError:
                if strict:
                    raise
                continue
            if owner:
                found.append(self._quantizers[owner])
            elif strict:
                raise error(
                    InvalidArgumentError,
                    "set_tensor_precision",
                    f'no enabled quantizer decides the values of "{name}"',
                    "enable one, or pass strict=False to skip such tensors",
                )
        for quantizer in found:
            quantizer.set_precision(precision)
        self._simulation.apply_exception_rules()

    def fold_param_quantizers(self) -> None:
        """Keeps the quantized values of the parameters: freezes their encodings.

        Runs take quantized parameters as constants anyway, so that this makes nothing faster. The quantizers stay for
        export, and can be unfrozen.

        Raises
        ------
        bitsweep.Error
            For an enabled parameter quantizer without an encoding; nothing is changed then.
        """
        enabled = [q for q in (self._quantizers[n] for n in self.param_names) if q.enabled]
        for quantizer in enabled:
            if not quantizer.is_initialized():
                raise error(
                    NotReadyError,
                    "fold_param_quantizers",
                    f'the quantizer of "{quantizer.name}" has no encoding',
                    "calibrate first (compute_encodings), or disable it",
                )
        for quantizer in enabled:
            quantizer.freeze_encodings()

    def get_supported_kernels(
        self,
    ) -> dict[str, list[tuple[tuple[int, QuantizationDataType], ...]]]:
        """Precisions that the rules list for each operator type, and under ``"defaults"`` for all others.

        Returns
        -------
        dict of str to list of candidates
            ``((activation bits, kind), (parameter bits, kind))`` as ``choose_mixed_precision`` takes them; without the
            second part for kernels that have no parameters. Empty when the rules restrict nothing.
        """
        kernels = _core.supported_kernels(self._simulation)
        return {
            kind: [_candidates.from_native(k) for k in listed] for kind, listed in kernels.items()
        }

    def set_histogram_support(self, support: str) -> None:
        """Which values the histograms of tf_enhanced and percentile can hold, for all quantizers.

        Parameters
        ----------
        support : "first_batch" or "growing"
            Three times the range of the first batch, as the peer has it; or all values, so that ranges do not depend
            on how samples are batched.
        """
        for quantizer in self._quantizers.values():
            quantizer.set_histogram_support(support)

    def set_quantizers(self, quantizer_dict: Mapping[str, QcQuantizeOp]) -> None:
        """Puts other quantizer objects on tensors; give one object to several tensors to tie them.

        Raises
        ------
        bitsweep.Error
            When a name has no quantizer; nothing is changed then.
        """
        self._check_names(quantizer_dict, "set_quantizers")
        for name, quantizer in quantizer_dict.items():
            self._simulation.set_quantizer(name, quantizer.native)
            self._quantizers[name] = quantizer

    def _check_names(self, names: Iterable[str], where: str) -> None:
        for name in names:
            if name not in self._quantizers:
                raise error(
                    NotFoundError,
                    where,
                    f'no tensor "{name}" has a quantizer',
                    "sim.describe() lists the tensors",
                )


def _find_operator(operators: Sequence[_core.OperatorInfo], name: str) -> _core.OperatorInfo:
    for op in operators:
        if op.name == name:
            return op
    # Files that the peer wrote count the operators that stand for several nodes: node_Gemm_0, node_Gemm_1 ...
    peer = re.fullmatch(r"node_(\w+)_(\d+)", name)
    if peer:
        fused = [op for op in operators if op.type == peer[1] and len(op.nodes) > 1]
        if int(peer[2]) < len(fused):
            return fused[int(peer[2])]
    raise KeyError(f"the model has no operator {name!r}; sim.operators lists them")


def _wrap_quantizers(simulation: _core.Simulation) -> dict[str, QcQuantizeOp]:
    wrappers: dict[int, QcQuantizeOp] = {}
    result = {}
    for name in simulation.tensor_names():
        native = simulation.quantizer(name)
        # The wrapper keeps the native object alive, so its identity holds for the loop.
        result[name] = wrappers.setdefault(id(native), QcQuantizeOp(native))
    return result
