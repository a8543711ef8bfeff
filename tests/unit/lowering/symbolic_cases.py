"""References with symbolic sizes: inputs, outputs, code, and what sizes may be."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["SYMBOLIC", "Symbolic"]


@dataclass(frozen=True)
class Symbolic:
    """One reference; `least` holds the smallest sizes that it is defined for."""

    name: str
    inputs: list[str]
    outputs: list[str]
    body: str
    least: dict[str, int] = field(default_factory=dict)

    @property
    def code(self) -> str:
        names = ", ".join(item.partition(":")[0] for item in self.inputs)
        lines = "\n".join(f"    {line}" for line in self.body.strip().splitlines())
        return f"def reference_{self.name}({names}):\n{lines}\n"


SYMBOLIC = [
    Symbolic("linear_gelu", ["x: B, S, D float32", "w: D, F float32", "b: F float32"], ["y: B, S, F float32"],
             "return F.gelu(x @ w + b)"),
    Symbolic("layer_norm", ["x: B, D float32", "g: D float32", "b: D float32", "eps: float = 1e-5"],
             ["y: B, D float32"], "return F.layer_norm(x, (x.shape[-1],), g, b, eps)"),
    Symbolic("softmax", ["x: M, N float32"], ["y: M, N float32"], "return torch.softmax(x, -1)"),
    Symbolic("square_softmax", ["x: N, N float32"], ["y: N, N float32"], "return torch.softmax(x, 0)"),
    Symbolic("attention", ["q: B, H, S, D float32", "k: B, H, T, D float32", "v: B, H, T, D float32"],
             ["y: B, S, H*D float32"],
             "p = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1)\n"
             "return (p @ v).transpose(1, 2).reshape(q.shape[0], q.shape[2], -1)"),
    Symbolic("causal", ["q: B, S, D float32", "k: B, S, D float32", "v: B, S, D float32"], ["y: B, S, D float32"],
             "return F.scaled_dot_product_attention(q, k, v, is_causal=True)"),
    Symbolic("grouped_heads", ["q: B, 4*G, S, D float32", "k: B, G, S, D float32", "v: B, G, S, D float32"],
             ["y: B, 4*G, S, D float32"], "return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)"),
    Symbolic("fused_heads", ["x: B, S, D float32", "w: 12*H, D float32"], ["y: 3, B, H, S, 4 float32"],
             "y = F.linear(x, w)\n"
             "return y.reshape(x.shape[0], x.shape[1], 3, -1, 4).permute(2, 0, 3, 1, 4)"),
    Symbolic("group_norm", ["x: N, 4*C, H, W float32", "g: 4*C float32", "b: 4*C float32"],
             ["y: N, 4*C, H, W float32"], "return F.silu(F.group_norm(x, 4, g, b))", least={"H": 2}),
    Symbolic("batch_norm", ["x: N, C, L float32"], ["y: N, C, L float32"],
             "return F.batch_norm(x, None, None, training=True)", least={"L": 2}),
    Symbolic("rope", ["x: B, S, 2*R float32", "c: S, R float32", "s: S, R float32"], ["y: B, S, 2*R float32"],
             "a, b = x.chunk(2, -1)\nreturn torch.cat([a * c - b * s, b * c + a * s], -1)"),
    Symbolic("interleaved", ["x: B, S, 2*R float32", "c: S, R float32"], ["y: B, S, 2*R float32"],
             "p = x.reshape(x.shape[0], x.shape[1], -1, 2)\nreturn (p * c.unsqueeze(-1)).flip(-1).flatten(-2)"),
    Symbolic("conv", ["x: N, C, H, W float32", "w: K, C, 3, 3 float32", "b: K float32"], ["y: N, K, H, W float32"],
             "return F.relu(F.conv2d(x, w, b, padding=1))"),
    Symbolic("conv_strided", ["x: N, C, H, W float32", "w: K, C, 3, 3 float32"],
             ["y: N, K, (H - 1)//2 + 1, (W - 1)//2 + 1 float32"], "return F.conv2d(x, w, stride=2, padding=1)"),
    Symbolic("conv_valid", ["x: N, C, L float32", "w: K, C, 3 float32"], ["y: N, K, L - 2 float32"],
             "return F.conv1d(x, w)", least={"L": 3}),
    Symbolic("depthwise", ["x: N, C, L float32", "w: C, 1, 4 float32"], ["y: N, C, L float32"],
             "return F.conv1d(F.pad(x, (3, 0)), w, groups=x.shape[1])"),
    Symbolic("conv_transposed", ["x: N, C, L float32", "w: C, K, 4 float32"], ["y: N, K, 2*L float32"],
             "return F.conv_transpose1d(x, w, stride=2, padding=1)"),
    Symbolic("pool", ["x: N, C, 2*H, 2*W float32"], ["y: N, C, H, W float32"], "return F.max_pool2d(x, 2)"),
    Symbolic("pool_average", ["x: N, C, L float32"], ["y: N, C, L float32"],
             "return F.avg_pool1d(x, 3, stride=1, padding=1, count_include_pad=False)"),
    Symbolic("pool_global", ["x: N, C, H, W float32"], ["y: N, C float32"],
             "return F.adaptive_avg_pool2d(x, 1).flatten(1)"),
    Symbolic("upsample", ["x: N, C, H, W float32"], ["y: N, C, 2*H, 2*W float32"],
             "return F.interpolate(x, scale_factor=2.0)"),
    Symbolic("reverse_sum", ["x: B, D float32"], ["y: B, D float32"], "return x.flip(1).cumsum(1).flip(1)"),
    Symbolic("exclusive_sum", ["x: B, D float32"], ["y: B, D float32"],
             "return torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1].cumsum(1)], 1)", least={"D": 2}),
    Symbolic("cross_entropy", ["x: B, V float32", "t: B int64"], ["y: float32"], "return F.cross_entropy(x, t)"),
    Symbolic("embedding", ["w: V, D float32", "t: B, S int64"], ["y: B, S, D float32"],
             "return F.embedding(t, w) * w.shape[-1] ** 0.5"),
    Symbolic("argmax", ["x: B, D, C float32"], ["y: B, C int64"], "return x.argmax(1)"),
    Symbolic("variance", ["x: B, D, C float32"], ["y: B float32", "m: B float32"],
             "v, m = torch.var_mean(x, (1, 2), correction=0)\nreturn v, m"),
    Symbolic("several", ["x: M, N float32"], ["y: M, N float32", "r: M float32", "c: N float32"],
             "return x / x.sum(1, keepdim=True), x.sum(1), x.sum(0)"),
    Symbolic("flattened_mean", ["x: B, C, H, W float32"], ["y: B, C float32"], "return x.flatten(2).mean(-1)"),
    Symbolic("matrix_vector", ["a: M, N float32", "b: N float32"], ["y: M float32"], "return a @ b"),
    Symbolic("covariance", ["x: N, D float32"], ["y: D, D float32"],
             "c = x - x.mean(0)\nreturn c.T @ c / x.shape[0]"),
    Symbolic("mean_loss", ["a: B, D float32", "b: B, D float32"], ["y: float32"], "return F.mse_loss(a, b)"),
    Symbolic("triangle", ["a: N, N float32", "b: N, N float32"], ["y: N, N float32"], "return torch.tril(a @ b)"),
    Symbolic("scaled", ["x: B, D float32", "alpha: float = 0.5", "count: int = 3", "flag: bool = True"],
             ["y: B, D float32"], "return x * alpha * 2 + count"),
    Symbolic("mixed", ["x: B, D float16", "g: D float32"], ["y: B, D float16"],
             "h = x.float()\nreturn (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6) * g).half()"),
    Symbolic("router", ["x: B, 8 float32"], ["y: B, 2 float32", "i: B, 2 int64"],
             "p = torch.topk(torch.softmax(x, -1), 2)\nreturn p.values, p.indices"),
]  # fmt: skip
