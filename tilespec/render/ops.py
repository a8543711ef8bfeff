"""Scalar operations of the tile program as cuTile expressions.

Operations that `cuda.tile` lacks are written out as helper functions, which the generated file carries when it uses
them (`HELPERS`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilespec.render.text import Text, atom, binary, call, prefix

__all__ = ["HELPERS", "constant", "cutile_dtype", "expression"]

_FLOATS = {"float16", "bfloat16", "float32", "float64"}
_DTYPES = {"bool": "bool_"}


def cutile_dtype(dtype: str) -> str:
    """Return the `cuda.tile` name of a torch dtype."""
    return f"ct.{_DTYPES.get(dtype, dtype)}"


def constant(value: float, dtype: str) -> Text:
    """Return a literal; loose, so it takes the dtype of the other operand."""
    if dtype == "bool":
        return atom(str(bool(value)))
    if dtype in _FLOATS:
        number = float(value)
        if math.isnan(number):
            return atom('float("nan")')
        if math.isinf(number):
            return atom('float("inf")') if number > 0 else prefix("-", atom('float("inf")'))
        return Text(repr(number), 100 if number >= 0 and not repr(number).startswith("-") else 60)
    return Text(repr(int(value)), 100 if value >= 0 else 60)


_BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shl": "<<",
    "shr": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_CALLS = {
    "exp": "ct.exp",
    "exp2": "ct.exp2",
    "log": "ct.log",
    "log2": "ct.log2",
    "sqrt": "ct.sqrt",
    "rsqrt": "ct.rsqrt",
    "sin": "ct.sin",
    "cos": "ct.cos",
    "tan": "ct.tan",
    "sinh": "ct.sinh",
    "cosh": "ct.cosh",
    "tanh": "ct.tanh",
    "atan2": "ct.atan2",
    "floor": "ct.floor",
    "ceil": "ct.ceil",
    "isnan": "ct.isnan",
    "abs": "ct.abs",
    "where": "ct.where",
}


def expression(op: str, dtype: str, operand_dtype: str, args: Sequence[Text]) -> tuple[Text, str | None]:
    """Return the expression of `op` and the name of the helper that it needs, if any.

    `dtype` is that of the result, `operand_dtype` that of the operands (of the last one for `where`).
    """
    if op in _BINARY:
        return binary(_BINARY[op], *args), None
    if op in {"max", "min"}:
        name = f"ct.{op}imum"
        if operand_dtype in _FLOATS:
            return call(name, *args, "propagate_nan=True"), None
        return call(name, *args), None
    if op in _CALLS:
        return call(_CALLS[op], *args), None
    if op == "neg":
        return prefix("-", args[0]), None
    if op == "not":
        return prefix("~", args[0]), None
    if op == "reciprocal":
        return binary("/", atom("1.0"), args[0]), None
    if op == "isinf":
        return binary("==", call("ct.abs", args[0]), atom('float("inf")')), None
    if op == "log10":
        return binary("*", call("ct.log", args[0]), atom(repr(1 / math.log(10)))), None
    if op == "atan":
        return call("ct.atan2", args[0], _like(args[0], 1.0)), None
    if op == "cast":
        return atom(f"{args[0].at_least(100)}.astype({cutile_dtype(dtype)})"), None
    name = _HELPER_OF.get((op, operand_dtype), _HELPER_OF.get((op, ""), op))
    if name in HELPERS:
        return call(name, *args), name
    message = f"no cuTile form of `{op}`"
    raise KeyError(message)


def _like(value: Text, number: float) -> Text:
    # A constant beside a float64 tile must not narrow it: x * 0 + 1 would lose inf, so multiply the sign bit away.
    return call("ct.where", binary("==", value, value), atom(repr(number)), atom(repr(number)))


_HELPER_OF = {
    ("expm1", "float32"): "expm1_float32",
    ("log1p", "float32"): "log1p_float32",
    ("erf", "float64"): "erf64",
    ("erfc", "float64"): "erfc64",
    ("round", ""): "round_half_even",
    ("round", "float64"): "round_half_even64",
}

HELPERS: dict[str, str] = {
    "mma_float32": '''
def mma_float32(a, b):
    """Return a @ b to float32 accuracy: three tfloat32 products of the high and low parts, in a fresh accumulator."""
    a_high = a.astype(ct.tfloat32)
    b_high = b.astype(ct.tfloat32)
    a_low = (a - a_high.astype(ct.float32)).astype(ct.tfloat32)
    b_low = (b - b_high.astype(ct.float32)).astype(ct.tfloat32)
    product = ct.mma(a_low, b_high, ct.zeros((a.shape[0], b.shape[1]), dtype=ct.float32))
    product = ct.mma(a_high, b_low, product)
    return ct.mma(a_high, b_high, product)
''',
    "running_max": '''
def running_max(x, y):
    """The larger one; NaN wins."""
    return ct.maximum(x, y, propagate_nan=True)
''',
    "running_min": '''
def running_min(x, y):
    """The smaller one; NaN wins."""
    return ct.minimum(x, y, propagate_nan=True)
''',
    "exceeds": '''
def exceeds(x, y):
    """Whether x is larger than y; NaN is larger than all but NaN."""
    return ~(x <= y) & (y == y)
''',
    "undercuts": '''
def undercuts(x, y):
    """Whether x is smaller than y; NaN is smaller than all but NaN."""
    return ~(x >= y) & (y == y)
''',
    "sigmoid": '''
def sigmoid(x):
    """1 / (1 + e^-x); tends to 0 and 1 without overflow."""
    return 1.0 / (1.0 + ct.exp(-x))
''',
    "sign": '''
def sign(x):
    """-1, 0 or 1."""
    return ct.where(x > 0, 1, ct.where(x < 0, -1, 0)).astype(x.dtype)
''',
    "trunc": '''
def trunc(x):
    """Round towards zero."""
    return ct.where(x < 0, ct.ceil(x), ct.floor(x))
''',
    "round_half_even": '''
def round_half_even(x):
    """Round to the nearest integer, ties to even: adding 1.5 * 2**23 leaves no fraction bits."""
    nearest = (x + 12582912.0) - 12582912.0
    return ct.where(ct.abs(x) < 4194304.0, nearest, x)
''',
    "round_half_even64": '''
def round_half_even64(x):
    """Round to the nearest integer, ties to even: adding 1.5 * 2**52 leaves no fraction bits."""
    nearest = (x + 6755399441055744.0) - 6755399441055744.0
    return ct.where(ct.abs(x) < 2251799813685248.0, nearest, x)
''',
    "expm1": '''
def expm1(x):
    """e^x - 1 without cancellation near 0 (Kahan)."""
    u = ct.exp(x)
    d = u - 1.0
    small = ct.where(u == 1.0, x, d * x / ct.log(u))
    return ct.where((ct.abs(x) > 1.0) | ct.isnan(x), d, small)
''',
    "expm1_float32": '''
def expm1_float32(x):
    """e^x - 1: x + x^2*P(x) inside [-0.5, 0.5], where the difference would cancel."""
    p = 0.000198498098 * x + 0.00139961764
    p = p * x + 0.00833357903
    p = p * x + 0.0416653586
    p = p * x + 0.16666664
    p = p * x + 0.500000039
    return ct.where(ct.abs(x) < 0.5, x + x * x * p, ct.exp(x) - 1.0)
''',
    "log1p": '''
def log1p(x):
    """ln(1 + x) without cancellation near 0 (Kahan)."""
    u = 1.0 + x
    small = ct.where(u == 1.0, x, ct.log(u) * x / (u - 1.0))
    return ct.where(ct.abs(x) < 1.0, small, ct.log(u))
''',
    "log1p_float32": '''
def log1p_float32(x):
    """ln(1 + x): with 1 + x = 2^i * (1 + m) and m in [-0.25, 0.5], i*ln(2) + m + m^2*P(m)."""
    u = 1.0 + x
    power = (ct.bitcast(u, ct.int32) - 0x3F400000) & -0x800000
    quarter = ct.bitcast(0x40800000 - power, ct.float32)
    m = ct.bitcast(ct.bitcast(x, ct.int32) - power, ct.float32) + (0.25 * quarter - 1.0)
    p = 0.0541324392 * m - 0.120673642
    p = p * m + 0.149839163
    p = p * m - 0.16822812
    p = p * m + 0.199770778
    p = p * m - 0.24993442
    p = p * m + 0.333335489
    p = p * m - 0.500000596
    value = power.astype(ct.float32) * 8.262958e-08 + (m + m * m * p)
    value = ct.where(u > 0.0, value, ct.where(u == 0.0, -float("inf"), float("nan")))
    return ct.where(u < float("inf"), value, u)
''',
    "asin": '''
def asin(x):
    """Arc sine through the two-argument arc tangent."""
    return ct.atan2(x, ct.sqrt((1.0 - x) * (1.0 + x)))
''',
    "acos": '''
def acos(x):
    """Arc cosine through the two-argument arc tangent."""
    return ct.atan2(ct.sqrt((1.0 - x) * (1.0 + x)), x)
''',
    "asinh": '''
def asinh(x):
    """Inverse hyperbolic sine."""
    a = ct.abs(x)
    large = ct.log(a) + 0.6931471805599453
    t = ct.minimum(a, 1e9, propagate_nan=True)
    near = t + t * t / (1.0 + ct.sqrt(1.0 + t * t))
    value = ct.where(a > 1e9, large, log1p(near))
    return ct.where(x < 0, -value, value)
''',
    "acosh": '''
def acosh(x):
    """Inverse hyperbolic cosine."""
    t = ct.minimum(x, 1e9, propagate_nan=True) - 1.0
    near = log1p(t + ct.sqrt(t) * ct.sqrt(t + 2.0))
    return ct.where(x > 1e9, ct.log(x) + 0.6931471805599453, near)
''',
    "atanh": '''
def atanh(x):
    """Inverse hyperbolic tangent."""
    a = ct.abs(x)
    value = 0.5 * log1p(2.0 * a / (1.0 - a))
    return ct.where(x < 0, -value, value)
''',
    "truncdiv": '''
def truncdiv(x, y):
    """Integer quotient rounded towards zero."""
    q = x // y
    return ct.where((q < 0) & (q * y != x), q + 1, q)
''',
    "fmod": '''
def fmod(x, y):
    """Remainder with the sign of the dividend."""
    r = x % y
    return ct.where((r != 0) & ((x < 0) != (y < 0)), r - y, r)
''',
    "erf": '''
def erf(x):
    """Error function: x + x*P(x^2) inside [-1, 1], 1 - 2^-Q(|x|) outside, within 2 units in the last place."""
    a = ct.abs(x)
    s = x * x
    p = 7.87587487e-05 * s - 0.00080168643
    p = p * s + 0.00518908724
    p = p * s - 0.0268542115
    p = p * s + 0.112835944
    p = p * s - 0.37612626
    p = p * s + 0.128379166
    t = ct.minimum(a, 4.0, propagate_nan=True)
    q = -2.36191022e-06 * t + 6.64477047e-05
    q = q * t - 0.000861008535
    q = q * t + 0.006866646
    q = q * t - 0.0381176397
    q = q * t + 0.158812001
    q = q * t + 0.911532283
    q = q * t + 1.63058209
    q = q * t - 0.000461861579
    tail = 1.0 - ct.exp2(-q, flush_to_zero=True)
    return ct.where(a < 1.0, x + x * p, ct.where(x < 0.0, -tail, tail))
''',
    "erf64": '''
def erf64(x):
    """Error function in float64: x + x*P(x^2) inside [-1, 1], 1 - e^-Q(|x|) outside."""
    a = ct.abs(x)
    s = x * x
    p = 2.8067128195611264e-13 * s - 6.1967364287877e-12
    p = p * s + 9.323723518153027e-11
    p = p * s - 1.2277734486795524e-09
    p = p * s + 1.4806027146128752e-08
    p = p * s - 1.636576864883207e-07
    p = p * s + 1.6462110782018636e-06
    p = p * s - 1.4925650236967501e-05
    p = p * s + 0.00012055332978879483
    p = p * s - 0.0008548327023403001
    p = p * s + 0.005223977625441674
    p = p * s - 0.026866170645131218
    p = p * s + 0.11283791670955126
    p = p * s - 0.37612638903183754
    p = p * s + 0.1283791670955126
    t = (ct.minimum(a, 6.0) - 3.5) * 0.4
    q = -9.72956306946975e-11 * t + 1.9416252072868306e-10
    q = q * t + 4.085454682634311e-10
    q = q * t - 1.0821834472678046e-09
    q = q * t - 3.8423971336263194e-11
    q = q * t + 2.690637086235063e-10
    q = q * t + 4.0549290270398455e-09
    q = q * t - 7.573263000033295e-09
    q = q * t + 4.683142085906379e-09
    q = q * t + 3.9708408882919245e-09
    q = q * t - 3.3133570370505174e-08
    q = q * t + 1.2997723447409562e-07
    q = q * t - 3.782027605770617e-07
    q = q * t + 9.157578506565115e-07
    q = q * t - 1.9214920996545023e-06
    q = q * t + 3.4210450627088774e-06
    q = q * t - 4.564542576343222e-06
    q = q * t + 1.4778256709218262e-06
    q = q * t + 1.847414462888405e-05
    q = q * t - 9.090095726843928e-05
    q = q * t + 0.0003078196256322116
    q = q * t - 0.0008935765796745036
    q = q * t + 0.002373997273380167
    q = q * t - 0.005953704476551319
    q = q * t + 0.014384548330764517
    q = q * t - 0.034128411079739226
    q = q * t + 0.08165090971779698
    q = q * t + 6.042206592138939
    q = q * t + 18.165248970912977
    q = q * t + 14.112437402148174
    tail = 1.0 - ct.exp(-q)
    return ct.where(a < 1.0, x + x * p, ct.where(x < 0.0, -tail, ct.where(ct.isnan(x), x, tail)))
''',
    "erfc": '''
def erfc(x):
    """1 - erf(x), accurate where it is small: e^-a^2 * P((a - 3.75) / (a + 3.75)) / (1 + 2a) with a = |x|."""
    a = ct.minimum(ct.abs(x), 30.0, propagate_nan=True)
    s = (a - 3.75) / (a + 3.75)
    p = -0.00022874723 * s + 0.00039670465
    p = p * s + 0.0016886622
    p = p * s - 0.0098454915
    p = p * s + 0.028396482
    p = p * s - 0.058645982
    p = p * s + 0.09229637
    p = p * s - 0.10881458
    p = p * s + 0.08227742
    p = p * s + 0.0035863102
    p = p * s - 0.14024061
    p = p * s + 1.2375126
    h = ct.floor(a * 16.0) * 0.0625
    tail = ct.exp(-h * h) * ct.exp((h - a) * (h + a)) * p / (1.0 + 2.0 * a)
    return ct.where(x < 0.0, 2.0 - tail, tail)
''',
    "erfc64": '''
def erfc64(x):
    """1 - erf(x) in float64, accurate where it is small: e^-a^2 * P((a - 3.75) / (a + 3.75)) / (1 + 2a) with a = |x|."""
    a = ct.minimum(ct.abs(x), 30.0, propagate_nan=True)
    s = (a - 3.75) / (a + 3.75)
    p = -7.66620979599882e-11 * s - 3.758730803563047e-11
    p = p * s + 9.23486770752957e-10
    p = p * s + 5.460657473631207e-10
    p = p * s - 6.60682947791671e-09
    p = p * s - 4.3902519431409845e-09
    p = p * s + 4.10739893733258e-08
    p = p * s + 2.4291311771894864e-08
    p = p * s - 2.612582098890154e-07
    p = p * s - 5.8264397666957126e-08
    p = p * s + 1.7535246298697825e-06
    p = p * s - 9.728484952656482e-07
    p = p * s - 1.144508983794941e-05
    p = p * s + 2.2383911531916976e-05
    p = p * s + 5.1649421745236465e-05
    p = p * s - 0.0002901539791322486
    p = p * s + 0.000293713591593492
    p = p * s + 0.0017556258323895534
    p = p * s - 0.009746579547145438
    p = p * s + 0.028362277421519668
    p = p * s - 0.05869339859058929
    p = p * s + 0.09230432116019804
    p = p * s - 0.10880393014170556
    p = p * s + 0.08227673849015103
    p = p * s + 0.003585415485463656
    p = p * s - 0.14024059858554702
    p = p * s + 1.2375126308378275
    h = ct.floor(a * 16.0) * 0.0625
    tail = ct.exp(-h * h) * ct.exp((h - a) * (h + a)) * p / (1.0 + 2.0 * a)
    return ct.where(x < 0.0, 2.0 - tail, tail)
''',
}
