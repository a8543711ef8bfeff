"""Hostile spec files, as data: whole texts that aim at what is outside the references."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["FILES"]

SPEC = """\
{top}KERNEL SPEC: k
Description: {description}
Operations: [{operations}]
{extra}Inputs:
  - x: shape=({dim},), dtype={dtype}{more}
Outputs:
  - y: shape=({dim},), dtype={dtype}
Dependencies: {dependencies}
PyTorch Reference:
def reference_k(x):
    return F.relu(x)
{rest}"""
PLAIN = {
    "top": "",
    "description": "One.",
    "operations": "relu",
    "extra": "",
    "dim": "N",
    "dtype": "float32",
    "more": "",
    "dependencies": "none",
    "rest": "",
}
NAMES = "abcdefgh"

DIMS = {
    "power tower": "9**9**9",
    "large power": "2**10**9",
    "power of a symbol": "N**10**6",
    "tower of symbols": "N**N**N",
    "power of a sum": "(A+B+C+D+E+F)**8",
    "power of powers": "((((A+B+C)**8)**8)**8)**8",
    "product of sums": "*".join(f"(A{number}+B{number})" for number in range(40)),
    "product of many": "*".join(f"A{number}" for number in range(4000)),
    "sum of many": "+".join(f"A{number}" for number in range(4000)),
    "nested quotients": "N" + "//2+N" * 2000,
    "quotient of quotients": "(" * 200 + "N" + "//M+1)" * 200,
    "nested minimum": "min(N," * 500 + "1" + ")" * 500,
    "remainders": "%".join(["N"] * 2000),
    "division by zero": "N // 0",
    "remainder of zero": "N % 0",
    "division by a difference": "N // (M - M)",
    "huge": "10**12",
    "huge product": "10**12 * 10**12 * 10**12",
    "many digits": "9" * 20_000,
    "underscored digits": "1" + "_1" * 10_000,
    "negative": "-1",
    "many signs": "-" * 5_000 + "1",
    "deep brackets": "(" * 5_000 + "1" + ")" * 5_000,
    "open brackets": "(" * 50_000,
    "closed brackets": ")" * 50_000,
    "call": "__import__('os').system('true')",
    "attribute": "x.__class__",
    "string": "'a' * 10**9",
    "float": "1e400",
    "rank": ", ".join(["N"] * 5000),
}
CHAINS = {
    "softmax": ("F.softmax(x, -1)", 15, 50, 700),
    "cumsum": ("x.cumsum(0)", 30, 60),
    "cat": ("torch.cat([x, x])[: x.shape[0]]", 30, 100),
    "gelu": ("F.gelu(x)", 100, 700),
    "layer_norm": ("F.layer_norm(x[None], (x.shape[0],))[0]", 10, 100),
}
"""Calls, and how often in a row: what a kernel may have at most, and more."""
LINES = {
    "range of everything": "N: 0..10**30",
    "range backwards": "N: 9..1",
    "step of zero": "N: 1..9 step 0",
    "step of everything": "N: 1..10**18 step 10**17",
    "wide range": "N: 1..10**18 step 1",
    "bomb as a limit": "N: 1..9**9**9",
    "many choices": "N: in {" + ", ".join(map(str, range(1, 10_000))) + "}",
    "itself": "N: = N + 1",
    "circle": "N: = M\n  M: = N",
    "doubling": "N: = A0\n" + "".join(f"  A{i}: = A{i + 1} * A{i + 1}\n" for i in range(60)),
    "growing sum": "N: = A0\n"
    + "".join(f"  A{i}: = (A{i + 1} + 1) * (A{i + 1} + B{i})\n" for i in range(40)),
    "long chain": "N: = A0\n" + "".join(f"  A{i}: = A{i + 1} + 1\n" for i in range(2000)),
}


def spec(**fields: str) -> str:
    return SPEC.format(**{**PLAIN, **fields})


def kernel(ident: str, inputs: list[str], rest: str = "") -> str:
    lines = "".join(f"  - {name}: shape=(N,), dtype=float32\n" for name in inputs)
    code = f"def reference_{ident}({', '.join(inputs)}):\n    return {' + '.join(inputs)}\n"
    return (
        f"KERNEL SPEC: {ident}\nDescription: One.\nOperations: [add]\nInputs:\n{lines}Outputs:\n"
        f"  - y_{ident}: shape=(N,), dtype=float32\n{rest}PyTorch Reference:\n{code}---\n"
    )


def wide(count: int) -> str:
    """A kernel whose inputs may come from any of `count` kernels, and an end-to-end reference that no wiring equals."""
    first = "".join(kernel(f"k{number}", [f"x{number}"]) for number in range(count))
    names = ", ".join(f"k{number}" for number in range(count))
    last = kernel("last", [f"a{number}" for number in range(count)], f"Dependencies: [{names}]\n")
    inputs = ", ".join(f"x{number}" for number in range(count))
    return f"{first}{last}## Composition Notes\ndef reference_all({inputs}):\n    return x0 * 3\n"


def types(count: int) -> str:
    """A kernel of `count` type variables, each of them any of many dtypes."""
    dtypes = "float16, bfloat16, float32, float64, int8, uint8, int32, int64"
    names = NAMES[:count]
    lines = "".join(f"  T{name} in {{{dtypes}}}\n" for name in names)
    inputs = "".join(f"  - {name}: shape=(N,), dtype=T{name}\n" for name in names)
    return (
        f"Types:\n{lines}---\nKERNEL SPEC: k\nDescription: One.\nOperations: [relu]\nInputs:\n{inputs}Outputs:\n"
        f"  - y: shape=(N,), dtype=Ta\nPyTorch Reference:\ndef reference_k({', '.join(names)}):\n    return F.relu(a)\n"
    )


def hostile() -> Iterator[tuple[str, str]]:
    """Yield names and texts."""
    for name, dim in DIMS.items():
        yield f"dim: {name}", spec(dim=dim)
    for name, (call, *counts) in CHAINS.items():
        for count in counts:
            code = f"for step in range({count}): x = {call}\n    return x"
            yield f"chain: {count} {name}", spec().replace("return F.relu(x)", code)
    for name, line in LINES.items():
        yield f"dims: {name}", spec(top=f"Dims:\n  {line}\n---\n")
    yield from {
        "types: most": types(2).replace(", int8, uint8, int32, int64", ""),
        "types: two": types(2),
        "types: product": types(8),
        "types: many": "Types: T in {" + ", ".join(["float32"] * 5_000) + "}\n---\n" + spec(dtype="T"),
        "bench: bomb": spec(extra="Bench: N=9**9**9\n"),
        "bench: huge": spec(extra="Bench: N=10**18\n"),
        "bench: many": spec(extra="Bench:\n" + "  - N=8\n" * 5_000),
        "values: bomb": spec(more=", values=0..9**9**9"),
        "values: infinite": spec(more=", values=-1e999..1e999"),
        "scalar: bomb": spec(rest="").replace("Outputs:", "  - s: scalar float = 9**9**9**9\nOutputs:"),
        "scalar: call": spec().replace("Outputs:", "  - s: scalar int = open('a')\nOutputs:"),
        "numerics: bomb": spec(extra="Numerics: tolerance=(9**9**9, 1)\n"),
        "operations: many": spec(operations=", ".join(f"operation_{number}" for number in range(5_000))),
        "operations: long": spec(operations="a" * 50_000),
        "operations: words": spec(operations="a " * 10_000),
        "operations: dashes": spec(operations="a" + " -" * 10_000),
        "operations: labels": spec(operations="a (" + "(b) " * 5_000),
        "dependencies: many": spec(
            dependencies="[" + ", ".join(f"k{number}" for number in range(5_000)) + "]"
        ),
        "description: long": spec(description="word " * 50_000),
        "notes: many": spec(rest="Notes:\n" + "- a note\n" * 10_000),
        "notes: gelu": spec(rest="Notes:\n- " + "tanh gelu approximation " * 5_000 + "\n"),
        "remark: nested": spec(more=" (" + "(a) " * 5_000 + ")"),
        "remark: deep": spec(more=" " + "(" * 5_000 + ")" * 5_000),
        "remark: long": spec(more=" (" + "output of " * 10_000 + "k)"),
        "fields: unknown": spec(extra="".join(f"Field{number}: a\n" for number in range(5_000))),
        "fields: repeated": spec(extra="Notes: a\n" * 5_000),
        "suppressions": "# tilespec: ignore[TS401] because\n" * 5_000 + spec(),
        "suppression of many": "# tilespec: ignore[" + "TS401, " * 5_000 + "] because\n" + spec(),
        "order: deep": spec(top="Execution order: " + "(" * 10_000 + "k" + ")" * 10_000 + "\n---\n"),
        "order: long": spec(top="Execution order: " + " -> ".join(["k"] * 5_000) + "\n---\n"),
        "order: wide": spec(top="Execution order: " + " || ".join(["k"] * 5_000) + "\n---\n"),
        "parallel groups": spec(top="Parallel groups: " + "a_b " * 10_000 + "\n---\n"),
        "completeness": spec(
            rest="---\n## Completeness Check\nCovered by kernel specs:\n" + "- relu -> k\n" * 10_000
        ),
        "completeness: words": spec(rest="---\n## Completeness Check\n" + "- a -> b, c: d\n" * 5_000),
        "kept": spec(extra="Keep in PyTorch: [" + ", ".join(["relu"] * 5_000) + '] because "a"\n'),
        "kernels: one id": spec() * 1_000,
        "kernels: chain": "".join(
            kernel(f"k{i}", ["x"], f"Dependencies: [k{i + 1}]\n" if i < 299 else "") for i in range(300)
        ).replace("return x", "return x["),
        "kernels: circle": "".join(
            kernel(f"k{i}", ["x"], f"Dependencies: [k{(i + 1) % 2000}]\n") for i in range(2000)
        ),
        "wiring: wide": wide(9),
        "wiring: wider": wide(40),
        "inputs: many": kernel("k", [f"x{number}" for number in range(200)]),
        "inputs: twice": spec().replace(
            "Outputs:", "  - x: shape=(N,), dtype=float32\n" * 10_000 + "Outputs:"
        ),
        "blank lines": "\n" * 4_000_000,
        "blanks": " " * 4_000_000,
        "tabs": "\t" * 1_000_000 + "KERNEL SPEC: k\n",
        "dashes": "-" * 1_000_000 + "x\n",
        "rules": "---\n" * 300_000,
        "stars": "*" * 1_000_000 + "\n",
        "hashes": "#" * 1_000_000 + " a\n",
        "heading of blanks": "# " + " " * 500_000 + "a\n",
        "field of blanks": "a" + " " * 500_000 + "b: c\n",
        "fences": "```\n" * 50_000,
        "long fence": "`" * 1_000_000 + "\n",
        "open fences": "".join("`" * (3 + number % 50) + "python\n" for number in range(10_000)),
        "colons": "a:" * 500_000 + "\n",
        "definitions": "def a\n" * 50_000,
        "bullets": spec().replace("  - x", "  " + "- " * 20_000 + "x"),
        "combining marks": spec(description="a" + "\u0301" * 500_000),
        "zip": "PK\x03\x04" + "a" * 20_000,
        "one long line": spec(description="a" * 4_000_000),
        "template in the id": spec().replace("KERNEL SPEC: k", "KERNEL SPEC: {{ 9**9**9 }}"),
        "template in the notes": spec(rest="Notes:\n- {% for a in range(10**12) %}{{ a }}{% endfor %}\n"),
        "path as source": spec(top="Source: ../../../etc/passwd:x\n---\n"),
        "device as source": spec(top="Source: /dev/zero:x\n---\n"),
    }.items()


FILES = list(hostile())
