"""Native part of bitsweep: models, quantizers, simulations and sweeps."""

from collections.abc import Sequence
import enum
import os
from typing import overload


def version() -> str:
    """Version of the native part."""

class Dimension:
    """
    A dimension of a declared shape: a size, or -1 with an optional symbol.
    """

    @property
    def size(self) -> int: ...

    @property
    def name(self) -> str: ...

class ValueInfo:
    """A model input or output as declared in the file."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def has_shape(self) -> bool: ...

    @property
    def shape(self) -> list[Dimension]: ...

class ExternalData(enum.Enum):
    """Where large tensors go when a model is written."""

    AUTO = 0

    NEVER = 1

    ALWAYS = 2

class Model:
    """An ONNX model, immutable once loaded."""

    @staticmethod
    def load(path: str | os.PathLike) -> Model:
        """Reads a file; external data is memory-mapped."""

    @staticmethod
    def parse(data: bytes, base_dir: str | os.PathLike = ...) -> Model:
        """Parses a serialized ModelProto; `base_dir` resolves external data."""

    def save(self, path: str | os.PathLike, external_data: ExternalData = ExternalData.AUTO, inline_limit_bytes: int = 1073741824) -> None: ...

    def inputs(self) -> list[ValueInfo]: ...

    def outputs(self) -> list[ValueInfo]: ...

    def ir_version(self) -> int: ...

    def opset(self) -> int: ...

    def num_nodes(self) -> int: ...

    def content_hash(self) -> str: ...

class FoldedBatchNorm:
    """A batch norm that became part of the weight and bias of a layer."""

    @property
    def layer(self) -> str: ...

    @property
    def layer_output(self) -> str: ...

    @property
    def batch_norm(self) -> str: ...

    @property
    def forward(self) -> bool: ...

    @property
    def gamma(self) -> list[float]: ...

    @property
    def beta(self) -> list[float]: ...

class KeptBatchNorm:
    """A batch norm that stayed, and why."""

    @property
    def batch_norm(self) -> str: ...

    @property
    def reason(self) -> str: ...

class FoldBatchNormsResult:
    @property
    def model(self) -> Model: ...

    @property
    def folded(self) -> list[FoldedBatchNorm]: ...

    @property
    def kept(self) -> list[KeptBatchNorm]: ...

def fold_batch_norms(model: Model) -> FoldBatchNormsResult:
    """
    Folds batch norms into the layers beside them; the model given stays as it is.
    """

class EqualizedPair:
    """Two neighbouring layers whose channels were scaled against each other."""

    @property
    def first(self) -> str: ...

    @property
    def second(self) -> str: ...

    @property
    def activation_between(self) -> bool: ...

    @property
    def scale(self) -> list[float]: ...

    @property
    def absorbed(self) -> list[float]: ...

class EqualizeResult:
    @property
    def model(self) -> Model: ...

    @property
    def folded(self) -> list[FoldedBatchNorm]: ...

    @property
    def sets(self) -> list[list[EqualizedPair]]: ...

    @property
    def replaced_clips(self) -> list[str]: ...

def equalize_cross_layers(model: Model, *, implied_group: bool = False, replace_relu6: bool = False, absorb_high_biases: bool = True) -> EqualizeResult:
    """Cross-layer equalization; the model given stays as it is."""

class DuplicatedInitializer:
    """A copy of an initializer for one of its readers."""

    @property
    def initializer(self) -> str: ...

    @property
    def copy(self) -> str: ...

    @property
    def node(self) -> str: ...

class DuplicateInitializersResult:
    @property
    def model(self) -> Model: ...

    @property
    def copies(self) -> list[DuplicatedInitializer]: ...

def duplicate_shared_initializers(model: Model) -> DuplicateInitializersResult:
    """Gives each reader of a shared float initializer its own copy."""

class Format:
    """A numeric type that a quantizer can round to."""

    def __init__(self) -> None: ...

    @staticmethod
    def integer(bitwidth: int) -> Format: ...

    @staticmethod
    def parse(name: str) -> Format: ...

    @property
    def bitwidth(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def is_integer(self) -> bool: ...

    @property
    def needs_encoding(self) -> bool: ...

    @overload
    def __eq__(self, other: Format) -> bool: ...

    @overload
    def __eq__(self, other: object) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class Granularity:
    """How many encodings a tensor has."""

    def __init__(self, channel_axis: int = -1, block_axis: int = -1, block_size: int = 0) -> None: ...

    @property
    def channel_axis(self) -> int: ...

    @property
    def block_axis(self) -> int: ...

    @property
    def block_size(self) -> int: ...

class AffineEncoding:
    """real = delta * (q + offset) of one grid cell."""

    def __init__(self, min: float, max: float, delta: float, offset: float) -> None: ...

    @property
    def min(self) -> float: ...

    @property
    def max(self) -> float: ...

    @property
    def delta(self) -> float: ...

    @property
    def offset(self) -> float: ...

class Encoding:
    """Encodings of one tensor: one cell, one per channel or one per block."""

    def __init__(self, format: Format, granularity: Granularity, grid: Sequence[int], cells: Sequence[AffineEncoding]) -> None: ...

    @property
    def format(self) -> Format: ...

    @property
    def granularity(self) -> Granularity: ...

    @property
    def grid(self) -> list[int]: ...

    @property
    def cells(self) -> list[AffineEncoding]: ...

class QuantizerSnapshot:
    """Settings and encoding of a quantizer at one moment."""

class Quantizer:
    """Settings, encoding and statistics of one quantizer."""

    def __init__(self, name: str) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def enabled(self) -> bool: ...

    @enabled.setter
    def enabled(self, arg: bool, /) -> None: ...

    @property
    def format(self) -> Format: ...

    @format.setter
    def format(self, arg: Format, /) -> None: ...

    @property
    def bitwidth(self) -> int: ...

    @bitwidth.setter
    def bitwidth(self, arg: int, /) -> None: ...

    @property
    def symmetric(self) -> bool: ...

    @symmetric.setter
    def symmetric(self, arg: bool, /) -> None: ...

    @property
    def strict_symmetric(self) -> bool: ...

    @strict_symmetric.setter
    def strict_symmetric(self, arg: bool, /) -> None: ...

    @property
    def unsigned_symmetric(self) -> bool: ...

    @unsigned_symmetric.setter
    def unsigned_symmetric(self, arg: bool, /) -> None: ...

    @property
    def granularity(self) -> Granularity: ...

    @granularity.setter
    def granularity(self, arg: Granularity, /) -> None: ...

    @property
    def tensor_shape(self) -> list[int]: ...

    @tensor_shape.setter
    def tensor_shape(self, arg: Sequence[int], /) -> None: ...

    @property
    def possible_channel_axis(self) -> int: ...

    @property
    def possible_block_axis(self) -> int: ...

    def set_possible_axes(self, channel_axis: int, block_axis: int) -> None: ...

    @property
    def lpbq_scale_bits(self) -> int | None: ...

    def set_lpbq(self, scale_bits: int | None) -> None: ...

    @property
    def scheme(self) -> str: ...

    @scheme.setter
    def scheme(self, arg: str, /) -> None: ...

    @property
    def percentile(self) -> float: ...

    @percentile.setter
    def percentile(self, arg: float, /) -> None: ...

    @property
    def histogram_support(self) -> str: ...

    @histogram_support.setter
    def histogram_support(self, arg: str, /) -> None: ...

    def histograms(self) -> list[list[tuple[float, float]]]: ...

    @property
    def fixed_range(self) -> tuple[float | None, float | None] | None: ...

    @fixed_range.setter
    def fixed_range(self, arg: tuple[float | None, float | None] | None, /) -> None: ...

    @property
    def zero_point_shift(self) -> float: ...

    @zero_point_shift.setter
    def zero_point_shift(self, arg: float, /) -> None: ...

    @property
    def frozen(self) -> bool: ...

    def freeze(self) -> None: ...

    def unfreeze(self) -> None: ...

    def reset_statistics(self) -> None: ...

    def observe(self, values: object) -> None: ...

    def has_statistics(self) -> bool: ...

    def num_non_finite(self) -> int: ...

    def compute_encoding(self) -> None: ...

    @property
    def encoding(self) -> Encoding | None: ...

    def load_encoding(self, encoding: Encoding) -> None: ...

    def clear_encoding(self) -> None: ...

    def initialized(self) -> bool: ...

    def clip_encoding(self, limit: float) -> bool | None: ...

    def fake_quant(self, values: object) -> object: ...

    @property
    def version(self) -> int: ...

    def snapshot(self) -> QuantizerSnapshot: ...

    def restore(self, snapshot: QuantizerSnapshot) -> None: ...

class TensorReport:
    """A tensor and what the simulation does with it."""

    @property
    def tensor(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def role(self) -> str: ...

    @property
    def format(self) -> str: ...

    @property
    def tied_to(self) -> str: ...

    @property
    def reason(self) -> str: ...

    def __repr__(self) -> str: ...

class OperatorInfo:
    """An operator with its tensors and parameters."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def nodes(self) -> list[str]: ...

    @property
    def inputs(self) -> list[str]: ...

    @property
    def outputs(self) -> list[str]: ...

    @property
    def parameters(self) -> list[tuple[str, str]]: ...

    @property
    def macs(self) -> int: ...

class Simulation:
    """A float model with quantizers that can be switched and calibrated."""

    def __init__(self, model: Model, *, parameter_format: Format = ..., activation_format: Format = ..., scheme: str = 'min_max', rules: str = 'default', providers: Sequence[str] = ['CPUExecutionProvider'], num_threads: int = 0, ort_library: str | os.PathLike = ..., custom_op_libraries: Sequence[str | os.PathLike] = [], portable_runs: bool = True) -> None: ...

    @property
    def model(self) -> Model: ...

    @property
    def providers(self) -> list[str]: ...

    def tensor_names(self) -> list[str]: ...

    def parameter_names(self) -> list[str]: ...

    def activation_names(self) -> list[str]: ...

    def input_quantizer_names(self) -> list[str]: ...

    def quantizer(self, tensor: str) -> Quantizer: ...

    def set_quantizer(self, tensor: str, quantizer: Quantizer) -> None: ...

    def operators(self) -> list[OperatorInfo]: ...

    def apply_exception_rules(self) -> None: ...

    def effective_tensor(self, tensor: str) -> str: ...

    def describe(self) -> list[TensorReport]: ...

    def check_feed(self, feed: object) -> None: ...

    def run(self, feed: object, copy: bool = False) -> list:
        """Outputs (file order) with the enabled quantizers."""

    def run_float(self, feed: object) -> list:
        """Outputs (file order) of the float model."""

    def calibrate(self, samples: object) -> int:
        """Calibrates on samples, several side by side; returns their number."""

    def begin_calibration(self) -> None: ...

    def finish_calibration(self) -> None: ...

    def abort_calibration(self) -> None: ...

    def begin_reuse(self, states: Sequence[Sequence[str]], max_memory_bytes: int = 0) -> None:
        """
        From here on run() recognises samples by content and reuses their float pass.
        """

    def end_reuse(self) -> None: ...

    def calibrating(self) -> bool: ...

    def non_finite_counts(self) -> list[tuple[str, int]]: ...

class Better(enum.Enum):
    """Which direction of a score is good."""

    HIGHER = 0

    LOWER = 1

class MetricInfo:
    """A row of the metric table."""

    @property
    def name(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def better(self) -> Better: ...

    @property
    def needs_labels(self) -> bool: ...

    def __repr__(self) -> str: ...

class MetricChoice:
    """A metric by name, with its options."""

    def __init__(self, name: str, *, k: int = 10, outputs: Sequence[int] = [], max_db: float = 100.0, mean: bool = False) -> None: ...

    @property
    def name(self) -> str: ...

class MetricReference:
    """Float outputs of one sample, prepared for a metric."""

class MetricAccumulator:
    """Streaming score: add pairs of outputs, then ask."""

    def fresh(self) -> MetricAccumulator:
        """An empty accumulator with the same options."""

    def prepare(self, reference: object, labels: object | None = None) -> MetricReference:
        """
        What the metric needs of the float outputs of a sample, and of its labels.
        """

    def add(self, reference: MetricReference, simulated: object) -> None:
        """Adds the outputs of one sample, in file order."""

    def score(self) -> float: ...

    def output_scores(self) -> list[float]:
        """The score of each compared output apart."""

def metrics() -> list[MetricInfo]:
    """The built-in metrics."""

def find_metric(name: str) -> MetricInfo: ...

def make_metric(name: str, *, k: int = 10, outputs: Sequence[int] = [], max_db: float = 100.0) -> MetricAccumulator: ...

def psnr_db(expected: object, actual: object, max_db: float = 100.0) -> float: ...

class SampleSource:
    """Samples of a model, one dict of arrays after another."""

    def __next__(self) -> object: ...

    def __iter__(self) -> object: ...

    def rewind(self) -> None: ...

    @property
    def size(self) -> int: ...

class DataSource(SampleSource):
    """Samples from files."""

    def unused(self) -> list[str]:
        """Arrays that name no model input, such as labels."""

def open_samples(path: str | os.PathLike, model: Model, *, max_samples: int = -1, batch_size: int = 0) -> DataSource: ...

class ScoreJournal:
    """Scores of a function of the user's own, kept in a run directory."""

    def __init__(self, simulation: Simulation, folder: str | os.PathLike, identity: str, reuse: bool) -> None: ...

    def find(self, enabled: Sequence[str]) -> float | None:
        """
        Score with just the quantizers of these tensors enabled; None when not known.
        """

    def put(self, enabled: Sequence[str], score: float) -> None: ...

    def close(self) -> None:
        """Lets other processes have the folder."""

    def notes(self) -> list[str]:
        """What the user should know, a sentence each."""

class SweepGroup:
    """A named set of quantizers that is switched on together."""

    def __init__(self, name: str, tensors: Sequence[str]) -> None: ...

    @property
    def name(self) -> str: ...

    @property
    def tensors(self) -> list[str]: ...

    def __repr__(self) -> str: ...

class SweepProgress:
    """How far a sweep is."""

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int: ...

    @property
    def elapsed_s(self) -> float: ...

    @property
    def remaining_s(self) -> float: ...

    @property
    def worst(self) -> str: ...

    @property
    def worst_score(self) -> float: ...

class ScoreInterval:
    """Bootstrap over the samples, in the score's unit."""

    def __repr__(self) -> str: ...

    @property
    def standard_error(self) -> float: ...

    @property
    def low(self) -> float:
        """Lower end of the 95% interval."""

    @property
    def high(self) -> float:
        """Upper end of the 95% interval."""

class SweepScore:
    """Score of one group."""

    @property
    def name(self) -> str: ...

    @property
    def score(self) -> float: ...

    @property
    def rank(self) -> int: ...

    @property
    def per_sample(self) -> list[float]: ...

    @property
    def per_output(self) -> list[float]:
        """In the order of the compared outputs."""

    @property
    def interval(self) -> ScoreInterval | None:
        """None with fewer than two samples."""

    @property
    def tied_with_next(self) -> bool:
        """
        The samples leave open which of this and the next row is more sensitive.
        """

    def __repr__(self) -> str: ...

class MetricScores:
    """Scores of all groups by one metric."""

    @property
    def metric(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def better(self) -> Better: ...

    @property
    def scores(self) -> list[SweepScore]:
        """Most sensitive first."""

    @property
    def float_score(self) -> float | None:
        """Of the float model, for metrics that compare with labels."""

class InteractingPair:
    """Two groups whose errors do not just add up."""

    @property
    def first(self) -> str: ...

    @property
    def second(self) -> str: ...

    @property
    def interaction(self) -> float:
        """
        In [-1, 1]: below 0 the errors cancel, above 0 the two are worse together.
        """

    @property
    def energy(self) -> float:
        """What the pair adds to the squared error."""

    def __repr__(self) -> str: ...

class Interactions:
    """How the errors of groups add up."""

    @property
    def groups(self) -> list[str]: ...

    def gram(self, output: int = 0) -> object:
        """
        Inner products of the groups' changes to a compared output, (groups, groups) float64.
        """

    def predict(self, configuration: Sequence[str], metric: str = 'sqnr') -> float:
        """
        Predicted score with just these groups quantized, by sqnr, psnr or mse.
        """

    def predict_additive(self, configuration: Sequence[str], metric: str = 'sqnr') -> float:
        """The same as if the groups' errors were independent."""

    def strongest_pairs(self, count: int = 20, output: int = 0) -> list[InteractingPair]: ...

class Stability:
    """How an adaptive sweep ended."""

    def __repr__(self) -> str: ...

    @property
    def selected(self) -> list[str]:
        """The most sensitive groups, or those beyond the threshold."""

    @property
    def confidence(self) -> float:
        """Of the least certain place."""

    @property
    def settled(self) -> bool: ...

    @property
    def num_evaluations(self) -> int: ...

    @property
    def num_without_stopping(self) -> int: ...

class SweepResult(MetricScores):
    """Scores of all groups, most sensitive first."""

    def __repr__(self) -> str: ...

    @property
    def groups(self) -> list[SweepGroup]:
        """As given."""

    @property
    def more(self) -> list[MetricScores]:
        """Scores by the further metrics."""

    @property
    def mode(self) -> str: ...

    @property
    def num_samples(self) -> int: ...

    @property
    def complete(self) -> bool: ...

    @property
    def stability(self) -> Stability | None: ...

    @property
    def interactions(self) -> Interactions | None: ...

    def predict(self, configuration: Sequence[str]) -> float:
        """
        Predicted score with just these groups quantized; needs interactions and a metric of squared errors.
        """

    @property
    def forward_equivalents(self) -> float:
        """Cost of all runs of one sample in units of one float pass."""

    @property
    def num_runs(self) -> int: ...

    @property
    def num_evaluations(self) -> int:
        """(group, sample) pairs that needed a run."""

    @property
    def num_kept(self) -> int:
        """Pairs answered from the run directory."""

    @property
    def elapsed_s(self) -> float: ...

    @property
    def notes(self) -> list[str]:
        """What the user should know, a sentence each."""

class AdaptiveOptions:
    """When an adaptive sweep stops."""

    def __init__(self, *, top_fraction: float = 0.1, threshold: float | None = None, confidence: float = 0.975, first_samples: int = 3, work: float = 0.3333333333333333) -> None: ...

def group_by_quantizer(simulation: Simulation, *, parameters: bool = True, activations: bool = True, patterns: Sequence[str] = []) -> list[SweepGroup]: ...

def group_by_operator(simulation: Simulation, *, parameters: bool = True, activations: bool = True, patterns: Sequence[str] = []) -> list[SweepGroup]: ...

def group_by_layer(simulation: Simulation) -> list[SweepGroup]:
    """
    One group per operator: its outputs, parameters, and inputs that no operator makes.
    """

def operator_of_tensor(simulation: Simulation) -> dict[str, str]:
    """Tensor to the operator that owns its quantizer."""

def layer_errors(simulation: Simulation, samples: object, max_samples: int = -1) -> list[tuple[str, float]]:
    """
    (operator, mean squared error of its first output), in topological order.
    """

def sweep(simulation: Simulation, samples: object, groups: Sequence[SweepGroup], metrics: Sequence[MetricChoice], *, labels: object | None = None, mode: str = 'enable_one', until_stable: AdaptiveOptions | None = None, interactions: bool = False, run_directory: str | os.PathLike | None = None, max_kept_bytes: int = 1000000000, reuse: bool = True, num_threads: int = 0, thread_use: str = 'states', max_memory_bytes: int = 0, caches: bool = True, progress: object | None = None) -> SweepResult:
    """
    Scores every group; the switches are put back on every exit. The first metric ranks.
    """

def default_highlight_patterns() -> list[str]: ...

def write_sensitivity_page(path: str | os.PathLike, *, title: str, metric: str, higher_is_worse: bool, scores: Sequence[tuple[str, float]], highlight_patterns: Sequence[str], details_label: str = '', details: Sequence[str] = [], facts: Sequence[tuple[str, str]] = []) -> None: ...

def write_sweep_page(path: str | os.PathLike, simulation: Simulation, result: SweepResult) -> None: ...

def write_ranges_page(path: str | os.PathLike, *, title: str, kind: str, entries: Sequence[tuple[str, float, float]], facts: Sequence[tuple[str, str]] = []) -> None:
    """`entries`: (name, smallest bound, largest bound)."""

def write_lines_page(path: str | os.PathLike, *, title: str, values: Sequence[tuple[str, float]], entry_label: str = 'Layer', value_label: str = 'Score', facts: Sequence[tuple[str, str]] = []) -> None: ...

def write_frontier_page(path: str | os.PathLike, *, title: str, cost_label: str, quality_label: str, points: Sequence[tuple[float, float]], facts: Sequence[tuple[str, str]] = []) -> None:
    """`points`: (cost, quality), cheapest first."""

def write_mix_page(path: str | os.PathLike, simulation: Simulation, result: MixResult, cost: str, targets: Sequence[str]) -> None: ...

def write_layer_values(folder: str | os.PathLike, name: str, title: str, label: str, values: Sequence[tuple[str, float]]) -> None: ...

def write_quantizer_ranges(simulation: Simulation, folder: str | os.PathLike) -> None: ...

def write_quantizer_histograms(simulation: Simulation, folder: str | os.PathLike) -> None: ...

def sweep_run_info_to_json(result: SweepResult) -> str: ...

def sweep_to_json(result: SweepResult, facts: Sequence[tuple[str, str]] = []) -> str: ...

def write_text_file(path: str | os.PathLike, text: str) -> None: ...

class ActivationSign(enum.Enum):
    """Sign of the codes of activations."""

    UNSIGNED = 0

    SIGNED = 1

    UNCHANGED = 2

class EncodingMismatch:
    """
    Settings of one quantizer that a file has in another way: (simulation, file).
    """

    @property
    def tensor(self) -> str: ...

    @property
    def enabled(self) -> tuple[bool, bool] | None: ...

    @property
    def format(self) -> tuple[str, str] | None: ...

    @property
    def granularity(self) -> tuple[str, str] | None: ...

    @property
    def symmetric(self) -> tuple[bool, bool] | None: ...

    @property
    def strict_symmetric(self) -> tuple[bool, bool] | None: ...

    @property
    def unsigned_symmetric(self) -> tuple[bool, bool] | None: ...

def encodings_text(simulation: Simulation, version: str = '1.0.0', int32_bias: bool | None = None, activation_sign: ActivationSign = ActivationSign.UNSIGNED) -> str:
    """The encodings of all enabled quantizers as JSON text."""

class EncodingsLoss:
    """Something about a quantizer that an encodings file can't say."""

    @property
    def tensor(self) -> str: ...

    @property
    def what(self) -> str: ...

    @property
    def changes_values(self) -> bool: ...

def encodings_losses(simulation: Simulation, version: str = '1.0.0', int32_bias: bool | None = None, activation_sign: ActivationSign = ActivationSign.UNSIGNED) -> list[EncodingsLoss]:
    """What a version of encodings files would leave out, by tensor."""

def ort_overrides_text(simulation: Simulation, activation_sign: ActivationSign = ActivationSign.UNSIGNED) -> str:
    """
    The encodings of all enabled quantizers as TensorQuantOverrides in JSON.
    """

def load_ort_overrides(simulation: Simulation, text: str, strict: bool = True, disable_missing: bool = True) -> list[EncodingMismatch]:
    """Reads TensorQuantOverrides in JSON into the quantizers."""

def export_simulation(simulation: Simulation, folder: str | os.PathLike, prefix: str, model: bool = True, version: str = '1.0.0', int32_bias: bool | None = None, activation_sign: ActivationSign = ActivationSign.UNSIGNED) -> None:
    """Writes the encodings file and the float model."""

def to_onnx_qdq(simulation: Simulation, integer_weights: bool = False, int32_bias: bool = False, loaded_bias: bool = False, keep_constants: bool = False, half_casts: bool = True, two_bit_types: bool = False, lpbq_multiples: bool = False, half_scales: bool = False, activation_sign: ActivationSign = ActivationSign.UNSIGNED, profile: str = 'onnx') -> Model:
    """The model with QuantizeLinear and DequantizeLinear."""

def encodings_to_onnx_qdq(model: Model, file: str | os.PathLike, integer_weights: bool = False, activation_sign: ActivationSign = ActivationSign.UNSIGNED, ort_library: str | os.PathLike = ...) -> Model:
    """The QDQ model of an encodings file."""

class ProfileNote:
    """What a target profile does to a tensor, or why it can't take it."""

    @property
    def tensor(self) -> str: ...

    @property
    def what(self) -> str: ...

    @property
    def refused(self) -> bool: ...

    @property
    def repaired(self) -> bool: ...

def profile_notes(simulation: Simulation, profile: str, int32_bias: bool = False, two_bit_types: bool = False, activation_sign: ActivationSign = ActivationSign.UNSIGNED) -> list[ProfileNote]:
    """What to_onnx_qdq() changes or refuses for a target."""

def load_encodings(simulation: Simulation, file: str | os.PathLike, strict: bool = True, disable_missing: bool = True, freeze_parameters_only: bool = False, freeze: bool = False) -> list[EncodingMismatch]:
    """Reads an encodings file into the quantizers."""

class LoadCheck:
    """Whether ONNX Runtime opens a file with one level."""

    @property
    def level(self) -> str: ...

    @property
    def loads(self) -> bool: ...

    @property
    def reason(self) -> str: ...

class Agreement:
    """Two runs of the same samples, compared at one output."""

    @property
    def output(self) -> str: ...

    @property
    def reference(self) -> str: ...

    @property
    def tested(self) -> str: ...

    @property
    def max_difference(self) -> float: ...

    @property
    def max_steps(self) -> float: ...

    @property
    def sqnr_db(self) -> float: ...

    @property
    def top1_agreement(self) -> float: ...

class Disagreement:
    """A tensor that the exported model computes in another way."""

    @property
    def tensor(self) -> str: ...

    @property
    def max_difference(self) -> float: ...

    @property
    def max_steps(self) -> float: ...

    @property
    def share(self) -> float: ...

    @property
    def sample(self) -> int: ...

class VerifyResult:
    """What a check of an exported model found."""

    @property
    def problems(self) -> list[str]: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def loads(self) -> list[LoadCheck]: ...

    @property
    def agreements(self) -> list[Agreement]: ...

    @property
    def first_disagreement(self) -> Disagreement | None: ...

    @property
    def num_samples(self) -> int: ...

    @property
    def float_ms(self) -> float: ...

    @property
    def qdq_ms(self) -> float: ...

    @property
    def passed(self) -> bool: ...

def verify_simulation(simulation: Simulation, qdq_file: str | os.PathLike, samples: object, *, max_steps: float = 1.0, num_threads: int = 1, num_latency_runs: int = 10) -> VerifyResult:
    """
    Checks an exported model file against the simulation that it came from.
    """

def verify_files(float_file: str | os.PathLike, qdq_file: str | os.PathLike, samples: object, *, rules: str = 'default', ort_library: str | os.PathLike = ..., custom_op_libraries: Sequence[str | os.PathLike] = [], max_steps: float = 1.0, num_threads: int = 1, num_latency_runs: int = 10) -> VerifyResult:
    """
    Checks an exported model file against its float model; the simulation is read back from it.
    """

def from_onnx_qdq(model: Model, *, rules: str = 'default', ort_library: str | os.PathLike = ..., custom_op_libraries: Sequence[str | os.PathLike] = [], num_threads: int = 0) -> Simulation:
    """The simulation of a QDQ model."""

class Candidate:
    """What a group of quantizers may become."""

    def __init__(self, activation: Format, parameter: Format | None = None) -> None: ...

    @property
    def activation(self) -> Format: ...

    @property
    def parameter(self) -> Format | None: ...

    @property
    def granularity(self) -> str | None: ...

    @property
    def estimator(self) -> str | None: ...

    @overload
    def __eq__(self, other: Candidate) -> bool: ...

    @overload
    def __eq__(self, other: object) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

class QuantizerGroup:
    """Quantizers that change their type together."""

    def __repr__(self) -> str: ...

    @property
    def activations(self) -> list[str]: ...

    @property
    def parameters(self) -> list[str]: ...

class GreedyEntry:
    """Score of one group alone with other types."""

    def __init__(self, group: int, candidate: Candidate, score: float, reduction: float) -> None: ...

    @property
    def group(self) -> int: ...

    @property
    def candidate(self) -> Candidate: ...

    @property
    def score(self) -> float: ...

    @property
    def reduction(self) -> float: ...

class GreedyPoint:
    """A measured configuration of a greedy search."""

    def __init__(self, position: int, group: int, candidate: Candidate, relative_bit_ops: float, score: float) -> None: ...

    @property
    def position(self) -> int: ...

    @property
    def group(self) -> int: ...

    @property
    def candidate(self) -> Candidate: ...

    @property
    def relative_bit_ops(self) -> float: ...

    @property
    def score(self) -> float: ...

class GreedyEnd(enum.Enum):
    """Why a greedy search ended."""

    SEARCHED = 0

    BEST_TOO_WEAK = 1

    LOWEST_SUFFICES = 2

class GreedyResult:
    """Outcome of a greedy search."""

    @property
    def end(self) -> GreedyEnd: ...

    @property
    def float_score(self) -> float: ...

    @property
    def final_score(self) -> float: ...

    @property
    def baseline(self) -> Candidate: ...

    @property
    def groups(self) -> list[QuantizerGroup]: ...

    @property
    def entries(self) -> list[GreedyEntry]: ...

    @property
    def points(self) -> list[GreedyPoint]: ...

    @property
    def chosen(self) -> list[Candidate]: ...

    @property
    def num_activations(self) -> int: ...

    @property
    def num_parameters(self) -> int: ...

    @property
    def num_flipped_activations(self) -> int: ...

    @property
    def num_flipped_parameters(self) -> int: ...

    @property
    def num_phase2_scores(self) -> int: ...

    @property
    def num_searched_points(self) -> int: ...

    @property
    def phase1_s(self) -> float: ...

    @property
    def phase2_s(self) -> float: ...

def supported_kernels(simulation: Simulation) -> dict[str, list[Candidate]]:
    """Kernels that the rules list, by operator type or "defaults"."""

def quantizer_groups(simulation: Simulation) -> list[QuantizerGroup]: ...

def greedy_search(simulation: Simulation, candidates: Sequence[Candidate], evaluator: object, allowed_drop: float | None, search: str = 'binary', ignore_kernels: bool = False, share_calibration: bool = True, baseline_by_bits: bool = False) -> GreedyResult:
    """`evaluator`: an object with the methods of bitsweep::GreedyEvaluator."""

def isolated_scores(simulation: Simulation, candidate: Candidate, evaluator: object) -> tuple[list[QuantizerGroup], list[float]]:
    """
    (groups, score of each alone) with every enabled quantizer set to the candidate.
    """

class MixPoint:
    """One configuration with what it costs and how good it is."""

    def __repr__(self) -> str: ...

    @property
    def by_group(self) -> list[Candidate]: ...

    @property
    def costs(self) -> list[float]: ...

    @property
    def predicted_db(self) -> float: ...

    @property
    def measured_db(self) -> float: ...

    @property
    def expected_db(self) -> float: ...

class MixCheck:
    """How good a chosen configuration is by another measure."""

    def __repr__(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def unit(self) -> str: ...

    @property
    def score(self) -> float: ...

    @property
    def float_score(self) -> float | None: ...

class MixResult:
    """Outcome of bitsweep.mix."""

    def __repr__(self) -> str: ...

    @property
    def groups(self) -> list[QuantizerGroup]: ...

    @property
    def chosen(self) -> MixPoint | None: ...

    @property
    def infeasible(self) -> str: ...

    @property
    def frontier(self) -> list[MixPoint]: ...

    @property
    def test_db(self) -> float | None: ...

    @property
    def checks(self) -> list[MixCheck]: ...

    @property
    def gap(self) -> float | None: ...

    @property
    def optimal(self) -> bool: ...

    @property
    def agreed(self) -> bool: ...

    @property
    def rounds(self) -> int: ...

    @property
    def num_measured(self) -> int: ...

    @property
    def num_run(self) -> int: ...

    @property
    def num_kept(self) -> int: ...

    @property
    def notes(self) -> list[str]: ...

    @property
    def elapsed_s(self) -> float: ...

class MixProgress:
    """How far a mix is."""

    @property
    def stage(self) -> str: ...

    @property
    def done(self) -> int:
        """Samples, or evaluations."""

    @property
    def total(self) -> int:
        """-1 while unknown."""

    @property
    def num_mixes(self) -> int:
        """Configurations begun."""

def parse_mix_candidate(text: str) -> Candidate:
    """Of W8A16, W4A8@block32@mse or float."""

def mix_candidate_text(candidate: Candidate) -> str: ...

def mix(simulation: Simulation, calibration: object, search: object, test: object | None, candidates: Sequence[Candidate], targets: Sequence[str], *, cost: str = 'bops', outputs: Sequence[int] = [], ignore_kernels: bool = False, same_format: Sequence[Sequence[str]] = [], pinned: Sequence[tuple[str, Candidate]] = [], frontier_points: int = 12, frontier_costs: Sequence[float] = [], tolerance_db: float = 0.25, num_threads: int = 0, max_memory_bytes: int = 0, apart: bool = False, run_directory: str = '', latency_table: str = '', test_labels: object | None = None, check_metrics: Sequence[str] = [], own_checks: Sequence[tuple[str, object]] = [], progress: object | None = None) -> MixResult:
    """Chooses the types of all groups; see bitsweep::mix."""

def mix_costs() -> list[tuple[str, str]]:
    """(name, meaning) of each cost."""

def present_costs(simulation: Simulation) -> list[float]:
    """Values in order of mix_costs()."""

def mix_policy_json(simulation: Simulation, result: MixResult) -> str: ...

def apply_mix_policy(simulation: Simulation, json: str) -> None: ...

class MixProblem:
    """What a mix predicts the error of configurations with."""

    @property
    def groups(self) -> list[QuantizerGroup]: ...

    @property
    def choices(self) -> list[list[Candidate]]:
        """Candidates by group."""

    def losses(self, mixes: Sequence[Sequence[int]], additive: bool = False) -> list[float]:
        """Error over signal of configurations, each a list of choices by group."""

    def costs(self, mixes: Sequence[Sequence[int]]) -> list[list[float]]:
        """Of each configuration, in order of mix_costs()."""

    def corrected(self, mixes: Sequence[Sequence[int]], db: Sequence[float], without_db: Sequence[Sequence[float]]) -> MixProblem:
        """Moved so that it predicts measured configurations."""

def mix_problem(simulation: Simulation, calibration: object, search: object, candidates: Sequence[Candidate], num_threads: int = 0) -> MixProblem:
    """What bitsweep.mix starts from."""
