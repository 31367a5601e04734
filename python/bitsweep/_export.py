"""What goes out of a simulation and comes back: encodings files, QDQ models, and the check of them."""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bitsweep import _core, _encodings_file, _ort
from bitsweep._encodings_file import EncodingMismatch
from bitsweep._model_input import to_native_model
from bitsweep._model_view import ModelView
from bitsweep.data import Feed, check_iterable

__all__ = ["ExportMethods", "as_file"]

_Sim = TypeVar("_Sim", bound="ExportMethods")


class ExportMethods:
    """The methods of :class:`QuantizationSimModel` that read and write files."""

    _simulation: _core.Simulation

    def _adopt(self, simulation: _core.Simulation) -> None:
        raise NotImplementedError

    @classmethod
    def from_onnx_qdq(
        cls: type[_Sim],
        model: Any,
        strict: bool = False,
        *,
        config_file: str | os.PathLike[str] | None = None,
        user_onnx_libs: Sequence[str | os.PathLike[str]] | None = None,
    ) -> _Sim:
        """The simulation of a QDQ model, whoever wrote it.

        Parameters
        ----------
        model : ModelProto, path or bytes
            Model with QuantizeLinear and DequantizeLinear. It is read, never changed.
        strict : bool
            Accepted for old scripts: a node that does not map to a quantizer is always an error that names it.
        config_file : str or path, optional
            Rules that know the quantized tensors.
        user_onnx_libs : list of path, optional
            Libraries with custom operators.

        Returns
        -------
        QuantizationSimModel
            Float model with frozen quantizers where the pairs were.

        Examples
        --------
        >>> sim = QuantizationSimModel.from_onnx_qdq("model_qdq.onnx")  # doctest: +SKIP
        """
        native = _core.from_onnx_qdq(
            to_native_model(model),
            rules="default" if config_file is None else os.fspath(config_file),
            ort_library=_ort.library_path(),
            custom_op_libraries=[Path(lib) for lib in user_onnx_libs or ()],
        )
        sim = cls.__new__(cls)
        sim._adopt(native)
        return sim

    def to_ort_overrides(
        self, *, force_activation_as: str | None = "unsigned"
    ) -> dict[str, list[dict[str, Any]]]:
        """The encodings as ``TensorQuantOverrides`` of ONNX Runtime's quantizer.

        Parameters
        ----------
        force_activation_as : "unsigned", "signed" or None
            Sign of the codes of activations.

        Returns
        -------
        dict
            Tensor to a list of dictionaries, one per channel, for
            ``quantize_static(..., extra_options={"TensorQuantOverrides": ...})``.

        Examples
        --------
        >>> overrides = sim.to_ort_overrides()  # doctest: +SKIP
        """
        sign = _encodings_file.activation_sign(force_activation_as)
        return _encodings_file.ort_overrides(_core.ort_overrides_text(self._simulation, sign))

    def load_ort_overrides(
        self, overrides: Mapping[str, Any], *, strict: bool = False, disable_missing: bool = True
    ) -> list[EncodingMismatch]:
        """Reads ``TensorQuantOverrides`` of ONNX Runtime's quantizer into the quantizers.

        Parameters
        ----------
        overrides : dict
            As :meth:`to_ort_overrides` gives it; ``rmin`` and ``rmax`` may stand for ``scale`` and ``zero_point``.
        strict : bool
            Refuse them when they differ from the settings of the quantizers.
        disable_missing : bool
            Switch off the quantizers that they do not name.

        Returns
        -------
        list of EncodingMismatch

        Examples
        --------
        >>> sim.load_ort_overrides({"x": [{"quant_type": "QUInt8", "scale": 0.1, "zero_point": 3}]})  # doctest: +SKIP
        """
        return _encodings_file.load_ort(
            self._simulation, overrides, strict=strict, disable_missing=disable_missing
        )

    def verify(
        self,
        qdq_model: Any,
        inputs: Iterable[Feed],
        *,
        max_steps: float = 1.0,
        latency_runs: int = 10,
    ) -> _core.VerifyResult:
        """Runs a QDQ model of this simulation in ONNX Runtime and compares it with the simulation.

        Parameters
        ----------
        qdq_model : ModelProto, path or bytes
            What :meth:`to_onnx_qdq` gave, or a file. With activations in float16 or bfloat16, give it
            ``float16_casts=True``: otherwise they stay in float there, and differ from the simulation. With LPBQ, give
            it ``lpbq_multiples=False``: otherwise steps may differ in the last bit; the same with a float16 model and
            ``float16_scales=False``.
        inputs : iterable of dict
            Samples.
        max_steps : float
            Steps by which an output may differ, without optimizations, from the simulation computed in the same way
            ("plain simulation") and still pass.
        latency_runs : int
            Runs that measure the latency of the float and of the QDQ model; 0: none. Not measured above 256 MB of
            weights, where one model is set up at a time.

        Returns
        -------
        VerifyResult
            ``passed``, the levels of optimizations with which it loads, agreements of float model, simulation and QDQ
            model, the first tensor that disagrees, latencies.

        Examples
        --------
        >>> result = sim.verify(sim.to_onnx_qdq(float16_casts=True), [{"x": x}])  # doctest: +SKIP
        >>> assert result.passed, result.notes  # doctest: +SKIP
        """
        check_iterable(inputs, "verify")
        with as_file(qdq_model) as path:
            return _core.verify_simulation(
                self._simulation,
                path,
                inputs,
                max_steps=max_steps,
                num_latency_runs=latency_runs,
            )

    def set_and_freeze_param_encodings(
        self, encoding_path: str | os.PathLike[str] | Mapping[str, Any]
    ) -> None:
        """Takes the encodings of parameters from a file and keeps them, whatever is calibrated later.

        Parameters
        ----------
        encoding_path : path or dict
            Encodings file of any version. Entries of activations are not used; parameters that the file does not name
            stay as they are.

        Raises
        ------
        bitsweep.Error
            When the file is broken or does not fit the model; nothing is changed then.
        """
        _encodings_file.load(
            self._simulation, encoding_path, strict=False, freeze_parameters_only=True
        )

    def export(
        self,
        path: str | os.PathLike[str],
        filename_prefix: str,
        export_model: bool = True,
        *,
        export_int32_bias: bool | None = None,
        encoding_version: str = "1.0.0",
        force_activation_as: str | None = "unsigned",
    ) -> None:
        """Writes the encodings of all enabled quantizers, and the float model.

        Files: ``<prefix>.encodings`` and ``<prefix>.onnx``; weights beyond 1 GiB go to ``<prefix>.data``.
        All is checked before, and files appear complete or not at all.

        Parameters
        ----------
        path : path
            Existing folder.
        filename_prefix : str
            Name of the files without ending.
        export_model : bool
            Write the model too.
        export_int32_bias : bool, optional
            Add int32 encodings of biases. None: with version 2.0.0 only.
        encoding_version : str
            ``"0.6.1"``, ``"1.0.0"`` or ``"2.0.0"``.
        force_activation_as : "unsigned", "signed" or None
            Sign of the codes of activations in version 2.0.0; None keeps signed codes for symmetric ones.

        Raises
        ------
        bitsweep.Error
            For an unknown version, a format that the version can't say, an enabled quantizer without encoding, a
            folder that is missing (also a FileNotFoundError) or not writable (also an OSError).

        Examples
        --------
        >>> sim.export("out", "model", encoding_version="2.0.0")  # doctest: +SKIP
        """
        if encoding_version == "0.6.1":
            warnings.warn(
                "export: version 0.6.1 of encodings files is deprecated; use 1.0.0 or 2.0.0",
                DeprecationWarning,
                stacklevel=2,
            )
        lost = [
            loss
            for loss in self.encodings_losses(
                encoding_version, force_activation_as=force_activation_as
            )
            if loss.changes_values
        ]
        if lost:
            more = f" and {len(lost) - 1} more: see encodings_losses()" if len(lost) > 1 else ""
            warnings.warn(f'export: "{lost[0].tensor}" {lost[0].what}{more}', stacklevel=2)
        _core.export_simulation(
            self._simulation,
            Path(path),
            filename_prefix,
            model=export_model,
            version=encoding_version,
            int32_bias=export_int32_bias,
            activation_sign=_encodings_file.activation_sign(force_activation_as),
        )

    def encodings_losses(
        self, encoding_version: str = "1.0.0", *, force_activation_as: str | None = "unsigned"
    ) -> list[_core.EncodingsLoss]:
        """What :meth:`export` would leave out, because the version of the file can't say it.

        Parameters
        ----------
        encoding_version : str
            ``"0.6.1"``, ``"1.0.0"`` or ``"2.0.0"``.
        force_activation_as : "unsigned", "signed" or None
            As for :meth:`export`.

        Returns
        -------
        list of EncodingsLoss
            With ``tensor``, ``what``, and ``changes_values`` where a simulation that reads the file computes something
            else; otherwise only a setting is lost.

        Examples
        --------
        >>> [loss.tensor for loss in sim.encodings_losses("2.0.0")]  # doctest: +SKIP
        """
        sign = _encodings_file.activation_sign(force_activation_as)
        return _core.encodings_losses(self._simulation, encoding_version, activation_sign=sign)

    def to_onnx_qdq(
        self,
        *,
        export_int32_bias: bool = False,
        prequantize_constants: bool = False,
        force_activation_as: str | None = "unsigned",
        float16_casts: bool = False,
        two_bit_types: bool = False,
        lpbq_multiples: bool = True,
        float16_scales: bool = True,
        target: str = "onnx",
    ) -> Any:
        """The model with QuantizeLinear and DequantizeLinear for every enabled quantizer.

        Tensors keep their names. The opset is raised where the types need it: 13 per channel, 19 for 8-bit floats, 21
        for 4 and 16 bits and for blocks, 25 for types of 2 bits.

        Parameters
        ----------
        export_int32_bias : bool
            Store biases as int32 with scale = input scale * weight scale.
        prequantize_constants : bool
            Store weights as integers; otherwise as floats that lie on their grid.
        force_activation_as : "unsigned", "signed" or None
            Sign of the codes of activations; None keeps signed codes for symmetric ones.
        float16_casts : bool
            Write activations in float16 and bfloat16 as a cast and one back: what was simulated, as
            :func:`bitsweep.quantize` does. Without it, they stay in float, as ``aimet_onnx`` leaves them.
        two_bit_types : bool
            Store codes of 2 bits as int2 and uint2 of opset 25, for runtimes that know them: ONNX Runtime 1.32 opens
            such a model without optimizations only. Otherwise they lie in 4 bits, which loads everywhere.
        lpbq_multiples : bool
            Write LPBQ as multiples of one float32 scale per channel, as ``aimet_onnx`` does: less bytes, and steps that
            may differ from the simulation in the last bit. False: as the scales of its blocks, which are what was
            simulated, as :func:`bitsweep.quantize` does.
        float16_scales : bool
            Write scales of float16 tensors in float16, as ``aimet_onnx`` does: steps that are not quite the simulated
            ones. False: the simulated ones in float32, with casts around the pair, as :func:`bitsweep.quantize` does.
        target : str
            What the model is for: ``"onnx"``, ``"ort_cpu"``, ``"tensorrt"`` or ``"qnn_htp"``. What a target asks is
            done, or refused with the tensor's name; :meth:`target_notes` lists it.

        Returns
        -------
        onnx.ModelProto

        Raises
        ------
        bitsweep.Error
            For a quantizer without encoding, a width that QuantizeLinear can't say, or an operator that would change
            its meaning with the opset.

        Examples
        --------
        >>> onnx.save(sim.to_onnx_qdq(), "model_qdq.onnx")  # doctest: +SKIP
        """
        native = _core.to_onnx_qdq(
            self._simulation,
            integer_weights=prequantize_constants,
            int32_bias=export_int32_bias,
            half_casts=float16_casts,
            two_bit_types=two_bit_types,
            lpbq_multiples=lpbq_multiples,
            half_scales=float16_scales,
            activation_sign=_encodings_file.activation_sign(force_activation_as),
            profile=target,
        )
        return ModelView(native).model

    def target_notes(
        self, target: str, *, export_int32_bias: bool = False, two_bit_types: bool = False
    ) -> list[_core.ProfileNote]:
        """What :meth:`to_onnx_qdq` changes or refuses for a target, a sentence per tensor.

        Parameters
        ----------
        target : str
            ``"onnx"``, ``"ort_cpu"``, ``"tensorrt"`` or ``"qnn_htp"``.
        export_int32_bias, two_bit_types : bool
            As for :meth:`to_onnx_qdq`.

        Returns
        -------
        list of ProfileNote
            With ``tensor``, ``what``, ``refused``, and ``repaired`` where the grid is another one than in the simulation.

        Examples
        --------
        >>> [n.tensor for n in sim.target_notes("tensorrt")]  # doctest: +SKIP
        """
        return _core.profile_notes(
            self._simulation,
            target,
            int32_bias=export_int32_bias,
            two_bit_types=two_bit_types,
        )


@contextlib.contextmanager
def as_file(model: Any) -> Iterator[Path]:
    """Path of a model; one in memory is written to a temporary folder."""
    if isinstance(model, (str, os.PathLike)):
        yield Path(model)
        return
    with tempfile.TemporaryDirectory(prefix="bitsweep-") as folder:
        path = Path(folder, "model.onnx")
        to_native_model(model).save(path)
        yield path
