"""Kernels as an expert writes them: one of each family. Loaded by the interpreter and by the compiler, not by Python."""

import math

import cuda.tile as ct
import torch

LOG2E = 1.4426950408889634


def next_power(extent: int) -> int:
    return 1 << max(extent - 1, 0).bit_length()


@ct.kernel(occupancy=4)
def softmax_rows(x, y, ROWS: ct.Constant[int], COLS: ct.Constant[int]):
    row = ct.bid(0)
    t = ct.load(x, (row, 0), (ROWS, COLS), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    top = ct.max(t, axis=1, keepdims=True)
    e = ct.exp2((t - top) * LOG2E, flush_to_zero=True)
    total = ct.sum(e, axis=1, keepdims=True)
    ct.store(y, (row, 0), ct.truediv(e, total).astype(y.dtype))


def softmax(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    grid = (ct.cdiv(x.shape[0], 2), 1, 1)
    ct.launch(torch.cuda.current_stream(), grid, softmax_rows, (x, y, 2, next_power(x.shape[1])))
    return y


@ct.kernel
def softmax_chunks(x, y, COLS: ct.Constant[int]):
    row = ct.bid(0)
    chunks = ct.num_tiles(x, 1, (1, COLS))
    top = ct.full((1, COLS), -math.inf, ct.float32)
    total = ct.zeros((1, COLS), ct.float32)
    for j in range(chunks):
        t = ct.load(x, (row, j), (1, COLS), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
        higher = ct.maximum(top, t)
        safe = ct.where(higher == -math.inf, 0.0, higher)
        total = total * ct.exp(top - safe) + ct.exp(t - safe)
        top = higher
    best = ct.max(top, axis=1, keepdims=True)
    scale = ct.where(top == -math.inf, 0.0, ct.exp(top - best))
    norm = ct.sum(total * scale, axis=1, keepdims=True)
    for j in range(chunks):
        t = ct.load(x, (row, j), (1, COLS), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
        ct.store(y, (row, j), (ct.exp(t - best) / norm).astype(y.dtype))


def softmax_online(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (x.shape[0],), softmax_chunks, (x, y, 64))
    return y


@ct.kernel(occupancy=2)
def layer_norm_rows(x, w, b, y, eps, ROWS: ct.Constant[int], COLS: ct.Constant[int]):
    row = ct.bid(0)
    width = x.shape[1]
    inside = ct.arange(COLS, dtype=ct.int32)[None, :] < width
    t = ct.load(x, (row, 0), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    mean = ct.sum(t, axis=1, keepdims=True) / width
    centred = ct.where(inside, t - mean, 0.0)
    variance = ct.sum(centred * centred, axis=1, keepdims=True) / width
    scale = ct.load(w, 0, COLS, padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    shift = ct.load(b, 0, COLS, padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    ct.store(y, (row, 0), (centred * ct.rsqrt(variance + eps) * scale + shift).astype(y.dtype))


def layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    y = torch.empty_like(x)
    tile = next_power(x.shape[1])
    grid = (ct.cdiv(x.shape[0], 4),)
    ct.launch(torch.cuda.current_stream(), grid, layer_norm_rows, (x, w, b, y, eps, 4, tile))
    return y


def swizzle(block, m, n, GROUP):
    width = GROUP * n
    group = block // width
    first = group * GROUP
    size = min(m - first, GROUP)
    return first + (block % width) % size, (block % width) // size


@ct.kernel(num_worker_warps=ct.ByTarget(sm_90=8))
def matmul_tiles(a, b, bias, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    tiles_m, tiles_n = ct.num_tiles(c, 0, (TM, TN)), ct.num_tiles(c, 1, (TM, TN))
    for block in range(ct.bid(0), tiles_m * tiles_n, ct.num_blocks(0)):
        i, j = swizzle(block, tiles_m, tiles_n, 8)
        acc = ct.zeros((TM, TN), ct.float32)
        for k in range(ct.num_tiles(a, 1, (TM, TK))):
            s = ct.load(a, (i, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
            t = ct.load(b, (k, j), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
            if ct.static_eval(a.dtype == ct.float32):
                acc = ct.mma(s.astype(ct.tfloat32), t.astype(ct.tfloat32), acc)
            else:
                acc = ct.mma(s, t, acc)
        shift = ct.load(bias, j, TN, padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        acc = ct.maximum(acc + shift[None, :], 0.0, propagate_nan=True)
        ct.store(c, (i, j), acc.astype(c.dtype))


def linear_relu(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    c = a.new_empty((a.shape[0], b.shape[1]))
    ct.launch(torch.cuda.current_stream(), (3,), matmul_tiles, (a, b, bias, c, 32, 32, 16))
    return c


@ct.kernel
def attention_rows(q, k, v, o, scale, TM: ct.Constant[int], TN: ct.Constant[int], D: ct.Constant[int]):
    i, head = ct.bid(0), ct.bid(1)
    length = k.shape[1]
    query = ct.load(q, (head, i, 0), (1, TM, D), padding_mode=ct.PaddingMode.ZERO).reshape((TM, D))
    top = ct.full((TM, 1), -math.inf, ct.float32)
    total = ct.zeros((TM, 1), ct.float32)
    acc = ct.zeros((TM, D), ct.float32)
    for j in range(ct.num_tiles(k, 1, (1, TN, D))):
        keys = ct.load(k, (head, 0, j), (1, D, TN), order=(0, 2, 1), padding_mode=ct.PaddingMode.ZERO)
        scores = ct.mma(query, keys.reshape((D, TN)), ct.zeros((TM, TN), ct.float32)) * (scale * LOG2E)
        place = j * TN + ct.arange(TN, dtype=ct.int32)[None, :]
        scores = ct.where(place < length, scores, -math.inf)
        higher = ct.maximum(top, ct.max(scores, axis=1, keepdims=True))
        p = ct.exp2(scores - higher, flush_to_zero=True)
        keep = ct.exp2(top - higher, flush_to_zero=True)
        total = total * keep + ct.sum(p, axis=1, keepdims=True)
        values = ct.load(v, (head, j, 0), (1, TN, D), padding_mode=ct.PaddingMode.ZERO).reshape((TN, D))
        acc = ct.mma(p.astype(v.dtype), values, acc * keep)
        top = higher
    ct.store(o, (head, i, 0), (acc / total).astype(o.dtype).reshape((1, TM, D)))


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    o = torch.empty_like(q)
    grid = (ct.cdiv(q.shape[1], 32), q.shape[0])
    scale = 1.0 / math.sqrt(q.shape[2])
    ct.launch(torch.cuda.current_stream(), grid, attention_rows, (q, k, v, o, scale, 32, 16, q.shape[2]))
    return o


@ct.kernel
def max_pool_rows(x, y, COLS: ct.Constant[int], SIZE: ct.Constant[int], STRIDE: ct.Constant[int]):
    plane, row, block = ct.bid(0), ct.bid(1), ct.bid(2)
    col = block * COLS + ct.arange(COLS, dtype=ct.int32)
    best = ct.full((COLS,), -math.inf, ct.float32)
    for di in range(SIZE):
        for dj in ct.static_iter(range(SIZE)):
            i = row * STRIDE + di - SIZE // 2
            j = col * STRIDE + dj - SIZE // 2
            t = ct.gather(x, (plane, i, j), padding_value=-math.inf)
            best = ct.maximum(best, t.astype(ct.float32), propagate_nan=True)
    ct.scatter(y, (plane, row, col), best.astype(y.dtype))


def max_pool(x: torch.Tensor) -> torch.Tensor:
    height, width = ((extent - 1) // 2 + 1 for extent in x.shape[1:])
    y = torch.full((x.shape[0], height, width), float("nan"), dtype=x.dtype)
    grid = (x.shape[0], height, ct.cdiv(width, 8))
    ct.launch(torch.cuda.current_stream(), grid, max_pool_rows, (x, y, 8, 3, 2))
    return y


@ct.kernel
def cumsum_rows(x, y, COLS: ct.Constant[int]):
    row = ct.bid(0)
    carry = ct.zeros((1, 1), ct.float32)
    for j in range(ct.num_tiles(x, 1, (1, COLS))):
        t = ct.load(x, (row, j), (1, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
        s = ct.cumsum(t, axis=1) + carry
        carry = ct.extract(s, (0, COLS - 1), (1, 1))
        ct.store(y, (row, j), s.astype(y.dtype))


def cumsum(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    ct.launch(torch.cuda.current_stream(), (x.shape[0],), cumsum_rows, (x, y, 16))
    return y


@ct.kernel
def column_sum_split(x, y, ROWS: ct.Constant[int], COLS: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    t = ct.load(x, (i, j), (ROWS, COLS), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    col = j * COLS + ct.arange(COLS, dtype=ct.int32)
    ct.atomic_add(y, col, ct.sum(t, axis=0))


def column_sum(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros(x.shape[1], dtype=torch.float32, device=x.device)
    grid = (ct.cdiv(x.shape[0], 8), ct.cdiv(x.shape[1], 16))
    ct.launch(torch.cuda.current_stream(), grid, column_sum_split, (x, y, 8, 16))
    return y


@ct.kernel
def embedding_rows(table, ids, y, COLS: ct.Constant[int]):
    row = ct.bid(0)
    which = ct.load(ids, (row,), (1,)).item()
    if 0 <= which < table.shape[0]:
        t = ct.load(table, (which.astype(ct.int32), 0), (1, COLS), padding_mode=ct.PaddingMode.ZERO)
    else:
        t = ct.zeros((1, COLS), table.dtype)
    ct.store(y, (row, 0), t)


def embedding(table: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    y = table.new_empty((ids.shape[0], table.shape[1]))
    tile = next_power(table.shape[1])
    ct.launch(torch.cuda.current_stream(), (ids.shape[0],), embedding_rows, (table, ids, y, tile))
    return y


@ct.kernel
def dropout_mask(y, seed, keep, TILE: ct.Constant[int]):
    i = ct.bid(0)
    h = (i * TILE + ct.arange(TILE, dtype=ct.int32)).astype(ct.uint32) + ct.astype(seed, ct.uint32)
    for shift, factor in ct.static_iter(((16, 0x7FEB352D), (15, 0x846CA68B))):
        h = (h ^ (h >> shift)) * factor
    h = h ^ (h >> 16)
    ct.store(y, i, ((h >> 8).astype(ct.float32) * 5.9604644775390625e-08 < keep).astype(y.dtype))


def dropout(count: int, keep: float) -> torch.Tensor:
    y = torch.empty(count, dtype=torch.int8, device="cuda")
    ct.launch(torch.cuda.current_stream(), (ct.cdiv(count, 64),), dropout_mask, (y, 7, keep, 64))
    return y
