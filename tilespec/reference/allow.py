"""The reference language as data: every name that reference code may use. What isn't listed is refused.

The lists are the whole of what a file can reach: the evaluator looks a name up here before it looks it up in torch.
A test holds that every entry exists in torch, that none reads or writes files, and that none takes a callback.
"""

from __future__ import annotations

__all__ = [
    "ATTRIBUTES",
    "BUILTINS",
    "CONSTANTS",
    "DTYPES",
    "FACTORIES",
    "FUNCTIONAL",
    "INFO_ATTRIBUTES",
    "LIMITS",
    "LINALG",
    "MATH",
    "METHODS",
    "MODULES",
    "SPECIAL",
    "TORCH",
    "functions",
]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


DTYPES = _names(
    """
    float16 half bfloat16 float32 float float64 double float8_e4m3fn float8_e5m2
    int8 uint8 int16 short int32 int int64 long bool
    """
)

CONSTANTS = _names("inf nan pi e strided contiguous_format channels_last channels_last_3d preserve_format")

_UNARY = """
    abs absolute acos arccos acosh arccosh asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil cos cosh
    deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac i0 isfinite isinf isnan isneginf isposinf isreal lgamma
    log log10 log1p log2 logical_not logit nan_to_num neg negative positive rad2deg reciprocal relu round rsqrt
    sigmoid sgn sign signbit sin sinc sinh sqrt square tan tanh trunc
"""

_BINARY = """
    add addcdiv addcmul atan2 arctan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor clamp
    clamp_max clamp_min clip copysign div divide dist eq float_power floor_divide fmax fmin fmod ge greater
    greater_equal gt heaviside hypot isclose le less less_equal lerp logaddexp logaddexp2 logical_and logical_or
    logical_xor lt maximum minimum mul multiply ne nextafter not_equal pow remainder rsub sub subtract true_divide where
    xlogy ldexp
"""

_REDUCTIONS = """
    all amax amin aminmax any argmax argmin argsort count_nonzero cummax cummin cumprod cumsum diff kthvalue logcumsumexp
    logsumexp max mean median min mode nanmean nansum norm prod quantile sort std std_mean sum topk trapz trapezoid
    var var_mean softmax log_softmax
"""

_PRODUCTS = """
    addbmm addmm addmv addr baddbmm bmm chain_matmul cross dot einsum ger inner kron matmul mm mv outer tensordot vdot
    bilinear cdist
"""

_VIEWS = """
    adjoint atleast_1d atleast_2d atleast_3d block_diag broadcast_to broadcast_tensors bucketize cat chunk clone
    column_stack concat concatenate diag diag_embed diagonal dsplit dstack expand_copy flatten flip fliplr
    flipud gather hsplit hstack index_add index_copy index_fill index_select masked_fill masked_scatter meshgrid moveaxis
    movedim narrow permute pixel_shuffle pixel_unshuffle ravel repeat_interleave reshape roll rot90 scatter
    scatter_add scatter_reduce searchsorted select select_scatter diagonal_scatter slice_scatter split split_with_sizes
    squeeze stack swapaxes swapdims t take take_along_dim tensor_split tile transpose tril triu tril_indices triu_indices
    unbind unflatten unsqueeze vander vsplit vstack channel_shuffle
"""

_MAKERS = """
    arange empty empty_like eye full full_like linspace logspace ones ones_like scalar_tensor tensor zeros zeros_like
    bartlett_window blackman_window hamming_window hann_window as_tensor
"""

_QUERIES = "finfo iinfo is_floating_point is_tensor numel result_type promote_types broadcast_shapes"

_NEURAL = """
    adaptive_avg_pool1d adaptive_max_pool1d alpha_dropout avg_pool1d celu conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d conv_transpose3d convolution cosine_similarity dropout embedding group_norm
    hardshrink layer_norm max_pool1d max_pool2d max_pool3d pairwise_distance prelu rms_norm rrelu selu
    threshold lstm_cell gru_cell rnn_relu_cell rnn_tanh_cell
"""

FACTORIES = _names(_MAKERS + " tril_indices triu_indices")
"""Functions of torch that make tensors, on the default device unless told otherwise."""
TORCH = _names(_UNARY + _BINARY + _REDUCTIONS + _PRODUCTS + _VIEWS + _MAKERS + _QUERIES + _NEURAL)

FUNCTIONAL = _names(
    """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
    adaptive_max_pool3d affine_grid alpha_dropout avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear binary_cross_entropy
    binary_cross_entropy_with_logits celu channel_shuffle conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy dropout dropout1d dropout2d dropout3d elu
    embedding embedding_bag feature_alpha_dropout fold gaussian_nll_loss gelu glu grid_sample group_norm hardshrink
    hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss layer_norm
    leaky_relu linear local_response_norm log_softmax logsigmoid lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss
    max_pool1d max_pool2d max_pool3d max_unpool1d max_unpool2d max_unpool3d mish mse_loss multi_margin_loss
    multilabel_margin_loss multilabel_soft_margin_loss nll_loss normalize one_hot pad pairwise_distance pdist
    pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu relu6 rms_norm scaled_dot_product_attention selu sigmoid
    silu smooth_l1_loss soft_margin_loss softmax softmin softplus softshrink softsign tanh tanhshrink threshold
    triplet_margin_loss unfold upsample upsample_bilinear upsample_nearest
    """
)

SPECIAL = _names(
    """
    digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e i1 i1e log1p log_ndtr log_softmax logit logsumexp
    ndtr ndtri psi round sinc softmax xlog1py xlogy
    """
)

LINALG = _names("cross diagonal matmul matrix_norm multi_dot norm vecdot vector_norm vander")

MATH = _names(
    """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees erf erfc exp exp2 expm1 fabs floor fmod
    gcd hypot isclose isfinite isinf isnan isqrt lcm log log10 log1p log2 pow prod radians sin sinh sqrt tan tanh trunc
    """
)

MATH_CONSTANTS = _names("pi e tau inf nan")

_METHOD_ONLY = """
    bfloat16 bool byte char contiguous dim double expand expand_as float half int is_contiguous item long ndimension
    nelement new_empty new_full new_ones new_zeros relu repeat reshape_as short size sum_to_size to type_as unfold view
    view_as index_put is_floating_point numel element_size detach
"""

_NOT_METHODS = _names(
    """
    atleast_1d atleast_2d atleast_3d bilinear block_diag broadcast_tensors bucketize cat cdist chain_matmul
    channel_shuffle column_stack concat concatenate dstack einsum expand_copy hstack meshgrid pixel_shuffle
    pixel_unshuffle rsub searchsorted stack std_mean tensordot trapezoid trapz tril_indices triu_indices vander
    var_mean vstack
    """
)

METHODS = _names(_UNARY + _BINARY + _REDUCTIONS + _PRODUCTS + _VIEWS + _METHOD_ONLY) - _NOT_METHODS

ATTRIBUTES = _names("shape dtype device ndim T mT H mH values indices sorted itemsize nbytes")

INFO_ATTRIBUTES = _names("min max eps tiny smallest_normal resolution bits")

BUILTINS = _names(
    "abs bool enumerate float int len list max min pow range reversed round sum tuple zip divmod all any"
)

MODULES: dict[str, frozenset[str]] = {
    "torch": TORCH | DTYPES | CONSTANTS,
    "torch.nn.functional": FUNCTIONAL,
    "torch.special": SPECIAL,
    "torch.linalg": LINALG,
    "math": MATH | MATH_CONSTANTS,
}
"""What each module path offers. `F` stands for `torch.nn.functional`."""

RANDOM = _names(
    """
    dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout rrelu
    """
)
"""Functions that draw random numbers unless `training=False`, which the evaluator insists on."""


def functions() -> list[str]:
    """Return every function as the reader writes it, sorted."""
    found = [f"torch.{name}" for name in TORCH]
    found += [f"F.{name}" for name in FUNCTIONAL]
    found += [f"torch.special.{name}" for name in SPECIAL]
    found += [f"torch.linalg.{name}" for name in LINALG]
    found += [f"math.{name}" for name in MATH]
    return sorted(found)


LIMITS: dict[str, int] = {
    "characters": 200_000,
    "nodes": 20_000,
    "nesting": 80,
    "integer bits": 256,
    "loop passes": 4_096,
    "steps": 200_000,
    "sequence length": 4_096,
    "call depth": 16,
    "operations": 192,
    "operations of a forward pass": 384,
    "axes": 8,
    "size bits": 63,
    "size terms": 128,
}
"""Bounds of one reference: on its text, on its syntax tree, and on what running it may do."""
