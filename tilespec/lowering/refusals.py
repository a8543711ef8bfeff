"""Ops that have no kernel on purpose: why, and what to do instead."""

from __future__ import annotations

__all__ = ["REFUSALS"]

_SIZE = "the size of its result depends on values"
_RANDOM = "its result is random, so nothing can be compared with it"
_COUNT = "it compares how often values occur"
_MATRIX = "matrix factorisations are iterative algorithms"
_FFT = "Fourier transforms work in complex numbers"

_MASK = "use `where` or `masked_fill`, whose result has a fixed size"
_INPUT = "make the random tensor outside and pass it as an input"
_KEEP = "list it under `Keep in PyTorch` with a reason"
_REAL = "write the transform as a product with a matrix of cosines and sines"

REFUSALS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("nonzero", "masked_select", "unique", "_unique2", "unique_consecutive", "unique_dim"), (_SIZE, _MASK)),
    "masked_scatter": ("where an element goes depends on how many came before it", "use `where` with an indexed source"),
    "nextafter": ("it steps to the neighbour in the bits of a float", _KEEP),
    "_pdist_forward": ("its result lists the pairs above the diagonal, an order that no index expression gives",
                       "use `torch.cdist(x, x)`, which is square"),
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only", "embedding_bag"),
                    ("the number of rows in a bag depends on values", "use `embedding` and a sum over a dim")),
    "bincount": (_SIZE, "use `scatter_add` into a tensor of known size"),
    "repeat_interleave": (_SIZE, "pass the number of repeats as one number"),
    **dict.fromkeys(
        ("bernoulli", "multinomial", "native_dropout", "normal", "normal_functional", "rand", "rand_like", "randint",
         "randn", "randn_like", "randperm", "rrelu_with_noise", "uniform", "dropout", "exponential"),
        (_RANDOM, _INPUT),
    ),
    **dict.fromkeys(("mode", "nanmedian", "histc"), (_COUNT, _KEEP)),
    **dict.fromkeys(
        ("cholesky", "linalg_cholesky_ex", "linalg_eigh", "linalg_inv_ex", "linalg_lu_factor_ex", "linalg_qr", "_linalg_det",
         "_linalg_eigh", "_linalg_slogdet", "_linalg_solve_ex", "_linalg_svd", "linalg_solve_triangular", "triangular_solve",
         "linalg_householder_product"),
        (_MATRIX, _KEEP),
    ),
    **dict.fromkeys(("_fft_c2c", "_fft_c2r", "_fft_r2c"), (_FFT, _REAL)),
    **dict.fromkeys(("view_as_complex", "view_as_real", "complex", "polar"),
                    ("kernels don't compute with complex numbers", "keep real and imaginary part as real tensors")),
    **dict.fromkeys(("item", "_local_scalar_dense"),
                    ("it brings a value to the host", "keep the value as a 0-d tensor, or pass it as a scalar input")),
    **dict.fromkeys(("lgamma", "digamma", "polygamma", "igamma", "igammac", "special_i0", "i0", "special_bessel_j0",
                     "special_zeta", "erfinv", "special_erfcx", "special_i0e",
                     "special_i1", "special_i1e", "special_ndtri"),
                    ("targets have no such function", "write an approximation out, or keep it in PyTorch with a reason")),
}  # fmt: skip
