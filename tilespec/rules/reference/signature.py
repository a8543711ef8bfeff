"""The function of a reference against the inputs that its kernel declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tilespec.diagnostics import Rule, Severity

__all__ = [
    "DefaultDiffers",
    "ParameterMismatch",
    "ReferenceGenerated",
    "ReferenceMissing",
    "ReferenceNameMismatch",
    "ScalarFixed",
    "UndeclaredParameter",
    "UnusedInput",
]


@dataclass(frozen=True)
class ReferenceNameMismatch(Rule):
    """A reference block without the function that the kernel's id asks for.

    The entry of the block of kernel `scale` is `reference_scale`. Other functions may stand beside it as helpers.

    Fails:

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        return x * 2
    ```
    """

    code: ClassVar[str] = "TS405"
    name: ClassVar[str] = "reference-name-mismatch"
    expected: str
    found: str | None

    def message(self) -> str:
        """State the fault."""
        found = f", it defines `{self.found}`" if self.found else ""
        return f"the reference does not define `{self.expected}`{found}"

    def help(self) -> str | None:
        """Say what to rename."""
        return f"name it `{self.expected}`"

    def replacement(self) -> str | None:
        """Return the name that belongs here."""
        return self.expected if self.found else None


@dataclass(frozen=True)
class ParameterMismatch(Rule):
    """Parameters of the reference that differ from the declared inputs.

    The reference takes the kernel's inputs by name, every one of them, in the order of `Inputs`.

    Fails: the file declares `bias`, the function takes `b`.

    ```tilespec
    KERNEL SPEC: shift
    Description: Adds a bias.
    Operations: [add]
    Inputs:
      - x: shape=(N,), dtype=float32
      - bias: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_shift(x, b):
        return x + b
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: shift
    Description: Adds a bias.
    Operations: [add]
    Inputs:
      - x: shape=(N,), dtype=float32
      - bias: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_shift(x, bias):
        return x + bias
    ```
    """

    code: ClassVar[str] = "TS406"
    name: ClassVar[str] = "parameter-mismatch"
    function: str
    declared: tuple[str, ...]
    written: tuple[str, ...]

    def message(self) -> str:
        """State the fault."""
        missing = [name for name in self.declared if name not in self.written]
        extra = [name for name in self.written if name not in self.declared]
        parts = []
        if missing:
            parts.append(f"lacks {', '.join(f'`{name}`' for name in missing)}")
        if extra:
            parts.append(f"has {', '.join(f'`{name}`' for name in extra)}, which no input declares")
        if not parts:
            parts.append("takes the inputs in another order than they are declared")
        return f"`{self.function}` {' and '.join(parts)}"

    def help(self) -> str | None:
        """Give the signature."""
        return f"write `def {self.function}({', '.join(self.declared)})`"


@dataclass(frozen=True)
class DefaultDiffers(Rule):
    """A scalar whose declared value is not the default in the reference's signature.

    Fails: the file says `1e-5`, the function `1e-6`.

    ```tilespec
    KERNEL SPEC: shift
    Description: Adds a small number.
    Operations: [add]
    Inputs:
      - x: shape=(N,), dtype=float32
      - eps: scalar float = 1e-5
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_shift(x, eps=1e-6):
        return x + eps
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: shift
    Description: Adds a small number.
    Operations: [add]
    Inputs:
      - x: shape=(N,), dtype=float32
      - eps: scalar float = 1e-5
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_shift(x, eps=1e-5):
        return x + eps
    ```
    """

    code: ClassVar[str] = "TS407"
    name: ClassVar[str] = "default-differs"
    scalar: str
    declared: str
    written: str

    def message(self) -> str:
        """State the fault."""
        return (
            f"`{self.scalar}` is declared as {self.declared} but defaults to {self.written} in the reference"
        )

    def help(self) -> str | None:
        """Say what to do."""
        return f"write {self.declared} or {self.written} in both places"


@dataclass(frozen=True)
class UnusedInput(Rule):
    """An input that the reference takes and never uses.

    Fails:

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
      - bias: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x, bias):
        return x * 2
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: scale
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_scale(x):
        return x * 2
    ```
    """

    code: ClassVar[str] = "TS416"
    name: ClassVar[str] = "unused-input"
    severity: ClassVar[Severity] = Severity.WARNING
    input: str

    def message(self) -> str:
        """State the fault."""
        return f"no output of the reference depends on `{self.input}`"

    def help(self) -> str | None:
        """Say what to do."""
        return "use it in the reference, or take it off `Inputs` and the parameters"


@dataclass(frozen=True)
class ScalarFixed(Rule):
    """A scalar that decides the program, so that its declared value is built into the kernel.

    An axis number, a group count or a flag cannot change from launch to launch. The launcher rejects other values.

    Fails: `dim` chooses which loop the kernel runs.

    ```tilespec
    KERNEL SPEC: total
    Description: Sums one axis.
    Operations: [sum]
    Inputs:
      - x: shape=(N, D), dtype=float32
      - dim: scalar int = 1
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_total(x, dim=1):
        return x.sum(dim=dim)
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: total
    Description: Sums one axis.
    Operations: [sum]
    Inputs:
      - x: shape=(N, D), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_total(x):
        return x.sum(dim=1)
    ```
    """

    code: ClassVar[str] = "TS417"
    name: ClassVar[str] = "scalar-fixed"
    severity: ClassVar[Severity] = Severity.NOTE
    scalar: str
    value: str

    def message(self) -> str:
        """State the fault."""
        return f"`{self.scalar}` decides the program, so the kernel is built for {self.value} only"

    def help(self) -> str | None:
        """Say what to do."""
        return "choose with `torch.where` in the reference, to have one kernel for every value"


@dataclass(frozen=True)
class ReferenceMissing(Rule):
    """A kernel without reference code whose operations leave a choice.

    `Operations` names what a kernel does, not on which operands. Where shapes, names and order leave one answer, the
    reference is generated and shown (`TS427`); here they leave none or several. Every other claim of the file is checked
    against the reference, so it has to be written.

    Fails:

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ```
    """

    code: ClassVar[str] = "TS424"
    name: ClassVar[str] = "reference-missing"
    kernel: str
    reason: str = ""

    def message(self) -> str:
        """State the fault."""
        why = f", and its operations don't determine one: {self.reason}" if self.reason else ""
        return f"`{self.kernel}` has no reference{why}"

    def help(self) -> str | None:
        """Say what to write."""
        return f"write `def reference_{self.kernel}(...)` under `PyTorch Reference:`"


@dataclass(frozen=True)
class UndeclaredParameter(Rule):
    """A parameter of the end-to-end reference that no kernel takes.

    The composition's inputs are the kernels' inputs, by name. A parameter that none of them declares has no shape.

    Fails: no kernel has an input `z`.

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    ## Composition Notes
    def reference_end(z):
        return z * 2
    ```

    Passes:

    ```tilespec
    KERNEL SPEC: double
    Description: Doubles every element.
    Operations: [mul]
    Inputs:
      - x: shape=(N,), dtype=float32
    Outputs:
      - y: shape=(N,), dtype=float32
    Dependencies: none
    PyTorch Reference:
    def reference_double(x):
        return x * 2
    ---
    ## Composition Notes
    def reference_end(x):
        return x * 2
    ```
    """

    code: ClassVar[str] = "TS425"
    name: ClassVar[str] = "undeclared-parameter"
    function: str
    parameter: str

    def message(self) -> str:
        """State the fault."""
        return f"`{self.parameter}` of `{self.function}` is an input of no kernel"

    def help(self) -> str | None:
        """Say what to do."""
        return "give it the name of the kernel input that it feeds, or add the KERNEL SPEC that reads it"


@dataclass(frozen=True)
class ReferenceGenerated(Rule):
    """A reference that was generated from the operations of a kernel.

    A kernel without a reference gets the one that its operations, shapes and names determine: operations in order, each
    on the result of the one before and on the next inputs that fit. The text is shown with this note and is what the
    kernel is proved equal to. Read it: if it isn't what was meant, write the reference.

    With the note:

    ```tilespec
    KERNEL SPEC: project
    Description: A product with a weight, plus a bias, through GELU.
    Operations: [matmul, bias_add, gelu]
    Inputs:
      - x: shape=(B, D), dtype=float16
      - weight: shape=(D, N), dtype=float16
      - bias: shape=(N,), dtype=float16
    Outputs:
      - y: shape=(B, N), dtype=float16
    Dependencies: none
    ```

    Without the note:

    ```tilespec
    KERNEL SPEC: project
    Description: A product with a weight, plus a bias, through GELU.
    Operations: [matmul, bias_add, gelu]
    Inputs:
      - x: shape=(B, D), dtype=float16
      - weight: shape=(D, N), dtype=float16
      - bias: shape=(N,), dtype=float16
    Outputs:
      - y: shape=(B, N), dtype=float16
    Dependencies: none
    PyTorch Reference:
    def reference_project(x, weight, bias):
        return F.gelu(x @ weight + bias)
    ```
    """

    code: ClassVar[str] = "TS427"
    name: ClassVar[str] = "reference-generated"
    severity: ClassVar[Severity] = Severity.NOTE
    kernel: str

    def message(self) -> str:
        """State what was done."""
        return f"the reference of `{self.kernel}` was generated from its operations"

    def help(self) -> str | None:
        """Say what to do if it is wrong."""
        return "write it under `PyTorch Reference:` if this is not what was meant"
