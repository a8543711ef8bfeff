"""Kernel bodies that the compiler refuses, and some close by that it accepts; each with the dtype of `x`, `y` and `h`.

Every body has `x`, `y` (16 by 16), `h` (16 by 16), `v` (16, int32), an int `n` and a float `f`.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ACCEPTED", "BODY", "REFUSED"]

BODY: Final = """
import math
import torch
import cuda.tile as ct

TABLE = [1, 2]
PAIR = (4, 8)
SCALE = 0.5


class Flag:
    WIDE = True


def twice(t, by=2):
    return t * by


def recurse(t):
    return recurse(t)


@ct.kernel
def k(x, y, h, v, n, f):
{body}


def launch(x, y, h, v, n, f):
    ct.launch(torch.cuda.current_stream(), (1,), k, (x, y, h, v, n, f))
"""

LOAD: Final = "t = ct.load(x, (0, 0), (16, 16))\n"
HALF: Final = "a = ct.load(h, (0, 0), (16, 16))\n"
VECTOR: Final = "i = ct.load(v, 0, 16)\n"

REFUSED: Final[dict[str, str]] = {
    # syntax
    "list": LOAD + "p = [1, 2]",
    "dict": "p = {1: 2}",
    "set": "p = {1}",
    "list comprehension": "p = [q for q in (1, 2)]",
    "try": "try:\n    p = 1\nexcept ValueError:\n    p = 2",
    "assert": "assert n > 0",
    "import": "import math",
    "global": "global TABLE",
    "walrus": "if (p := n) > 0:\n    pass",
    "match": "match n:\n    case 1:\n        pass",
    "del": "p = 1\ndel p",
    "nested class": "class P:\n    pass",
    "starred target": "p, *q = (1, 2, 3)",
    "attribute target": LOAD + "t.name = 1",
    "raise": "raise ValueError('no')",
    "generator": "p = tuple(q for q in (1, 2))",
    "loop over a tuple": "for p in (1, 2):\n    pass",
    "for else": "for p in range(3):\n    pass\nelse:\n    pass",
    "while else": "while n > 9:\n    pass\nelse:\n    pass",
    "break of an unrolled loop": "for p in ct.static_iter(range(3)):\n    break",
    "negative step": "for p in range(10, 0, -1):\n    pass",
    # conditions
    "if tile": LOAD + "p = 1\nif t > 0:\n    p = 2",
    "tile and tile": LOAD + "p = (t > 0) and (t < 1)",
    "chained comparison of tiles": LOAD + "p = 0 < t < 1",
    # shapes
    "zeros of 3": "p = ct.zeros((3, 4), ct.float32)",
    "load of 12": "p = ct.load(x, (0, 0), (12, 16))",
    "runtime shape": "p = ct.zeros((n,), ct.float32)",
    "runtime shape from an array": "p = ct.zeros((x.shape[0],), ct.float32)",
    "broadcast": LOAD + VECTOR + "p = t + ct.zeros((8,), ct.float32)",
    "reshape of another size": LOAD + "p = ct.reshape(t, (16, 8))",
    "reshape by an int": LOAD + "p = ct.reshape(t, 256)",
    "transpose of rank 3": "p = ct.transpose(ct.zeros((2, 4, 8), ct.float32))",
    "cat of three": LOAD + "p = ct.cat((t, t, t), 0)",
    "cat of unequal": LOAD + "p = ct.cat((t, ct.zeros((16, 8), ct.float32)), 0)",
    "extract outside": LOAD + "p = ct.extract(t, (4, 0), (4, 16))",
    "item of many": LOAD + "p = t.item()",
    "arange of 12": "p = ct.arange(12, dtype=ct.int32)",
    "broadcast_to smaller": LOAD + "p = ct.broadcast_to(t, (8, 16))",
    # arrays and tiles
    "array subscript": "p = x[0]",
    "array item assignment": "x[0] = 1.0",
    "tile subscript": LOAD + "p = t[0]",
    "tile slice": LOAD + "p = t[0:4]",
    "tile item assignment": LOAD + "t[0] = 1.0",
    "T": LOAD + "p = t.T",
    "sum method": LOAD + "p = t.sum()",
    "erf": LOAD + "p = ct.erf(t)",
    "index of wrong length": "p = ct.load(x, (0,), (16, 16))",
    "shape of wrong length": "p = ct.load(x, (0, 0), (16,))",
    "scalar index for rank 2": "p = ct.load(x, 0, (16, 16))",
    "unsigned index": "p = ct.load(x, (ct.uint32(0), 0), (16, 16))",
    "float index": "p = ct.load(x, (0.0, 0), (16, 16))",
    "latency 0": "p = ct.load(x, (0, 0), (16, 16), latency=0)",
    "latency 11": "p = ct.load(x, (0, 0), (16, 16), latency=11)",
    "padding mode in lower case": "p = ct.load(x, (0, 0), (16, 16), padding_mode='zero')",
    "float padding of integers": "p = ct.load(v, 0, 16, padding_mode=ct.PaddingMode.NEG_INF)\nct.store(v, 0, p)",
    "store of another rank": VECTOR + "ct.store(y, (0, 0), i.astype(ct.float32))",
    "axis 3": "p = ct.bid(3)",
    "runtime axis": "p = ct.bid(n)",
    # dtypes
    "half with bfloat16": HALF + "p = a + a.astype(ct.bfloat16)",
    "comparison of half with bfloat16": HALF + "p = a > a.astype(ct.bfloat16)",
    "signed with unsigned": VECTOR + "p = i + i.astype(ct.uint32)",
    "bool with bool": LOAD + "p = (t > 0) + (t > 1)",
    "store of float32 in float16": LOAD + "ct.store(h, (0, 0), t)",
    "store of int64 in int32": VECTOR + "ct.store(v, 0, i.astype(ct.int64))",
    "store of a float in int32": "ct.store(v, 0, ct.full((16,), 1.0, ct.float32))",
    "scatter of a float constant in int32": VECTOR + "ct.scatter(v, i, 1.5)",
    "padding value 1.5 for integers": VECTOR + "p = ct.gather(v, i, padding_value=1.5)",
    "constant out of range": VECTOR + "p = i.astype(ct.int8) + 300",
    "runtime float in half arithmetic": HALF + "ct.store(h, (0, 0), a * f)",
    "int power": VECTOR + "ct.store(v, 0, i ** 2)",
    "runtime int power": "ct.store(v, 0, ct.full((16,), n ** 2, ct.int32))",
    "ceil of integers": VECTOR + "p = ct.ceil(i)",
    "float8 arithmetic": HALF + "p = a.astype(ct.float8_e4m3fn) + 1",
    "tf32 arithmetic": LOAD + "p = t.astype(ct.tfloat32) + 1.0",
    "tf32 sum": LOAD + "p = ct.sum(t.astype(ct.tfloat32))",
    "invert float": LOAD + "p = ~t",
    "and of float": LOAD + "p = t & 1",
    "and of int32 with int64": VECTOR + "p = i & i.astype(ct.int64)",
    "bitcast to another width": LOAD + "p = ct.bitcast(t, ct.int16)",
    "flush to zero of half": HALF + "p = ct.add(a, a, flush_to_zero=True)",
    "approximate exp of half": HALF + "p = ct.exp(a, rounding_mode=ct.RoundingMode.APPROX)",
    "gather with float index": LOAD + "p = ct.gather(x, (t, t))",
    "gather with one index": VECTOR + "p = ct.gather(x, (i,))",
    "gather with int mask": VECTOR + "p = ct.gather(v, i, mask=i)",
    "atomic max of floats": VECTOR + "ct.atomic_max(x, (i, i), 1.0)",
    # mma
    "mma of mixed dtypes": LOAD + HALF + "p = ct.mma(t, a, ct.zeros((16, 16), ct.float32))",
    "mma into bfloat16": HALF
    + "b = a.astype(ct.bfloat16)\np = ct.mma(b, b, ct.zeros((16, 16), ct.bfloat16))",
    "mma of wrong shape": HALF + "p = ct.mma(a, a, ct.zeros((16, 8), ct.float32))",
    "mma of rank 1": VECTOR + "p = ct.mma(i, i, i)",
    "mma of int32": VECTOR + "b = ct.zeros((16, 16), ct.int32)\np = ct.mma(b, b, b)",
    "fast accumulation of half": HALF + "p = ct.mma(a, a, ct.zeros((16, 16), ct.float32), use_fast_acc=True)",
    # reductions
    "sum over axis 2": LOAD + "p = ct.sum(t, axis=2)",
    "sum over a repeated axis": LOAD + "p = ct.sum(t, axis=(0, 0))",
    "argmax over a tuple": LOAD + "p = ct.argmax(t, axis=(0, 1))",
    # functions
    "math.sqrt": "p = math.sqrt(f)",
    "builtin sum": "p = sum((1, 2))",
    "round": "p = round(f)",
    "max of three": "p = max(n, 1, 2)",
    "int of runtime": "p = int(f)",
    "float of runtime": "p = float(n)",
    "torch": "p = torch.sqrt(f)",
    "enumerate": "for p in enumerate((1, 2)):\n    pass",
    "global list": "p = TABLE[0]",
    "returned value": "return 1",
    "recursion": LOAD + "p = recurse(t)",
    "missing argument": LOAD + "p = twice()",
    # types that depend on the path
    "dtype changes in a loop": "p = ct.zeros((16,), ct.float16)\nfor q in range(n):\n    p = p + ct.ones((16,), ct.float32)",
    "shape changes in a loop": "p = 0.0\nfor q in range(n):\n    p = p + ct.ones((16,), ct.float32)",
    "int becomes float in a loop": "p = 0\nfor q in range(n):\n    p = p * 0.5",
    "undefined after a branch": "if n > 99:\n    p = 1\nq = p + 1",
    "undefined after a loop": "for q in range(n - n):\n    p = 1\nct.store(v, 0, ct.full((16,), p, ct.int32))",
    # static
    "static_assert": "ct.static_assert(1 > 2, 'no')",
    "ensure_constant": "ct.ensure_constant(n)",
    "static_exception": "raise ct.static_exception(ValueError('no'))",
}

ACCEPTED: Final[dict[str, str]] = {
    "half times constant": HALF + "ct.store(h, (0, 0), a * 2.0 + 1)",
    "half times bool": HALF + "ct.store(h, (0, 0), a * (a > 0))",
    "int divided": VECTOR + "ct.store(x, (0, 0), (i / 2).reshape((1, 16)))",
    "float of int": VECTOR + "ct.store(x, (0, 0), i.reshape((1, 16)))",
    "store of one element": "ct.store(x, (0, 0), 1.0)",
    "store of an int constant": "ct.store(x, (0, 0), 1)",
    "order": LOAD + "p = ct.load(x, (0, 0), (16, 8), order='F')\nct.store(y, (0, 0), p)",
    "negative element": "p = ct.gather(v, ct.arange(16, dtype=ct.int32) - 4)\nct.store(v, 0, p)",
    "masked gather": "o = ct.arange(16, dtype=ct.int32)\nct.scatter(v, o, ct.gather(v, o, mask=o < 4, padding_value=7), mask=o < 8)",
    "helper": LOAD + "ct.store(y, (0, 0), twice(t, by=3))",
    "lambda": LOAD + "g = lambda a: a + 1\nct.store(y, (0, 0), g(t))",
    "not of a tile": LOAD + "ct.store(y, (0, 0), ct.where(not (t > 0), t, 0.0))",
    "static loop": LOAD
    + "for q in ct.static_iter(range(3)):\n    t = t + ct.zeros((1 << q, 1), ct.float32).reshape((1, 1 << q)).extract((0, 0), (1, 1))\nct.store(y, (0, 0), t)",
    "static comprehension": "p = tuple(q * 2 for q in ct.static_iter(range(3)))\nct.store(v, 0, ct.full((16,), p[2], ct.int32))",
    "static_eval": "p = ct.static_eval([4, 8][1])\nct.store(v, 0, ct.full((16,), p, ct.int32))",
    "global tuple": "ct.store(v, 0, ct.full((16,), PAIR[1], ct.int32))",
    "class attribute": "if Flag.WIDE:\n    ct.store(v, 0, ct.full((16,), 1, ct.int32))",
    "pi": LOAD + "ct.store(y, (0, 0), t * math.pi)",
    "infinity": LOAD + "ct.store(y, (0, 0), ct.maximum(t, -float('inf')))",
    "builtin max": "ct.store(v, 0, ct.full((16,), max(n, 3), ct.int32))",
    "abs": LOAD + "ct.store(y, (0, 0), abs(t))",
    "loop": "p = ct.zeros((16, 16), ct.float32)\nfor q in range(0, n, 2):\n    p = p + q\nct.store(y, (0, 0), p)",
    "scalar loop": "p = 0\nfor q in range(n):\n    p += 2\nct.store(v, 0, ct.full((16,), p, ct.int32))",
    "float scalar loop": HALF + "p = 0.0\nfor q in range(n):\n    p = p + ct.sum(a)\nct.store(x, (0, 0), p)",
    "break and continue": "p = 0\nfor q in range(9):\n    if q == 1:\n        continue\n    if q > n:\n        break\n    p = p + q\nct.store(v, 0, ct.full((16,), p, ct.int32))",
    "while": "p = 1\nwhile p < n:\n    p = p * 2\nct.store(v, 0, ct.full((16,), p, ct.int32))",
    "early return": "if n > 99:\n    return\nct.store(v, 0, ct.full((16,), 1, ct.int32))",
    "ternary": "p = 1 if n > 2 else 2\nct.store(v, 0, ct.full((16,), p, ct.int32))",
    "pruned branch": "if SCALE > 1:\n    p = ct.zeros((3,), ct.float32)\nct.store(v, 0, ct.full((16,), 1, ct.int32))",
    "tf32": LOAD
    + "b = t.astype(ct.tfloat32)\nct.store(y, (0, 0), ct.mma(b, b, ct.zeros((16, 16), ct.float32)))",
    "mma": HALF + "ct.store(y, (0, 0), ct.mma(a, a.transpose(), ct.zeros((16, 16), ct.float32)))",
    "matmul": HALF + "ct.store(h, (0, 0), a @ a)",
    "reductions": LOAD
    + "ct.store(y, (0, 0), t - ct.max(t, axis=1, keepdims=True) + ct.sum(t) + ct.min(t, 0)[None, :])",
    "argmax": LOAD + "ct.store(v, 0, ct.argmax(t, axis=1))",
    "cumsum": LOAD + "ct.store(y, (0, 0), ct.cumsum(t, axis=1))",
    "scan": LOAD
    + "def g(a0, b0, a1, b1):\n    return a0 * a1, b0 * a1 + b1\np, q = ct.scan((t, t), 1, g, (1.0, 0.0))\nct.store(y, (0, 0), q)",
    "reduce": LOAD + "ct.store(y, (0, 0), ct.reduce(t, 1, lambda a, b: a + b, 0.0, keepdims=True) + t)",
    "slice": "p = ct.load(x.slice(0, 4, 12), (0, 0), (8, 16))\nct.store(y, (0, 0), p)",
    "tiled view": "w = x.tiled_view((8, 16))\nw.store((1, 0), w.load((0, 0)))",
    "num_tiles": "p = ct.num_tiles(x, 1, (4, 8)) + ct.cdiv(x.shape[0], 8)\nct.store(v, 0, ct.full((16,), p, ct.int32))",
    "num_blocks": "ct.store(v, 0, ct.full((16,), ct.num_blocks(0) + ct.bid(1), ct.int32))",
    "atomics": "o = ct.arange(16, dtype=ct.int32)\nct.atomic_add(v, o // 4, 1)\nct.atomic_add(x, (o, o), 1.0)",
    "unsigned": VECTOR
    + "p = i.astype(ct.uint32)\np = (p * 2654435769) ^ (p >> 16)\nct.store(v, 0, ct.bitcast(p, ct.int32))",
    "bool logic": LOAD + "p = (t > 0) & ~(t > 1) | (t < -1)\nct.store(y, (0, 0), p.astype(ct.float32))",
    "sum of bool": LOAD + "ct.store(v, 0, ct.sum(t > 0, axis=1))",
    "print": LOAD + "ct.print(t)",
    "divmod": VECTOR + "p, q = divmod(i, 3)\nct.store(v, 0, p + q)",
    "float floor division": LOAD + "ct.store(y, (0, 0), t // 2.0 + t % 2.0)",
    "power": LOAD + "ct.store(y, (0, 0), abs(t) ** 1.5 + t ** 2)",
    "cat and extract": LOAD + "p = ct.cat((t, t), 0)\nct.store(y, (0, 0), ct.extract(p, (1, 0), (16, 16)))",
    "permute": "p = ct.permute(ct.load(x, (0, 0), (8, 16)).reshape((2, 4, 16)), (2, 0, 1))\nct.store(y, (0, 0), p.reshape((16, 8)))",
    "assume_divisible_by": "p = ct.assume_divisible_by(n * 4, 4)\nct.store(v, 0, ct.full((16,), p, ct.int32))",
    "strict scalar": "p = ct.int16(70000)\nct.store(v, 0, ct.full((16,), p, ct.int32))",
    "float8": HALF + "p = a.astype(ct.float8_e4m3fn)\nct.store(h, (0, 0), p.astype(ct.float16))",
    "rounding modes": LOAD
    + "ct.store(y, (0, 0), ct.truediv(t, 3.0, rounding_mode=ct.RoundingMode.APPROX, flush_to_zero=True))",
    "atan2": LOAD + "ct.store(y, (0, 0), ct.atan2(t, 2.0))",
    "where on constants": LOAD + "ct.store(y, (0, 0), ct.where(t > 0, 1.0, 0.0))",
    "isnan": LOAD + "ct.store(y, (0, 0), ct.where(ct.isnan(t), 0.0, t))",
    "chained comparison of scalars": "if 0 < n < 9:\n    ct.store(v, 0, ct.full((16,), 1, ct.int32))",
    "constant membership": "if 4 in PAIR:\n    ct.store(v, 0, ct.full((16,), 1, ct.int32))",
    "exp2": LOAD + "ct.store(y, (0, 0), ct.exp2(t, flush_to_zero=True))",
    "insert": LOAD + "ct.store(y, (0, 0), ct.insert(t, (1, 0), ct.zeros((8, 16), ct.float32)))",
    "item": LOAD + "p = ct.sum(t, keepdims=True).item()\nct.store(y, (0, 0), t + p)",
}
