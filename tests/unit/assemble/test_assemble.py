"""Compiles hand-written kernels with the real compiler, for targets that aren't there."""

from __future__ import annotations

import os
import signal
import struct
from pathlib import Path

import pytest

from tilespec.assemble import Assembler, Assembly, Job, findings
from tilespec.assemble.cubin import Resources, resources
from tilespec.assemble.types import AssemblyError, Remark
from tilespec.assemble.worker import _remarks
from tilespec.diagnostics import Severity, SourceText, Span

KERNELS = """
from __future__ import annotations
import torch
import cuda.tile as ct

WIDE = torch.float32


@ct.kernel
def scale(x, y, factor, TILE: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, (i,), (TILE,), padding_mode=ct.PaddingMode.ZERO).astype(ct.float32)
    ct.store(y, (i,), (t * factor).astype(y.dtype))


@ct.kernel
def product(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        x = ct.load(a, (i, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (k, j), (TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


class Holder(torch.nn.Module):
    pass


def launch(x: torch.Tensor | None, factor: float = 2.0) -> torch.Tensor:
    return torch.empty_like(x)
"""

PRINTS = """
import os
import cuda.tile as ct

print("a module that talks")


@ct.kernel
def nothing(x):
    pass


if os.environ.get("TILESPEC_TEST_DIE"):
    os._exit(3)
"""


def array(name: str, dtype: str, rank: int = 1) -> dict[str, object]:
    return {"kind": "array", "name": name, "dtype": dtype, "rank": rank}


def constant(name: str, value: float) -> dict[str, object]:
    return {"kind": "constant", "name": name, "value": value}


def scale(dtype: str, tile: int = 1024) -> list[dict[str, object]]:
    factor = {"kind": "scalar", "name": "factor", "dtype": "float32"}
    return [array("x", dtype), array("y", dtype), factor, constant("TILE", tile)]


def product(dtype: str, *tile: int) -> list[dict[str, object]]:
    arrays = [array(name, dtype, 2) for name in "abc"]
    return [*arrays, *(constant(name, extent) for name, extent in zip(("TM", "TN", "TK"), tile, strict=True))]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("generated") / "kernels.py"
    path.write_text(KERNELS)
    return path


@pytest.fixture(scope="module")
def assembler():
    with Assembler(1) as pool:
        yield pool


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_both_variants_compile_for_every_target(kernels: Path, assembler: Assembler, target: str):
    for aligned in (True, False):
        done = assembler.compile(Job(kernels, "scale", scale("float16"), target, aligned=aligned))
        assert done.error is None
        assert done.cubin_size > 1000
        assert 8 <= done.registers <= 255
        assert done.threads >= 128
        assert done.frame == 0


def test_aligned_code_differs_from_ragged_code(kernels: Path, assembler: Assembler, tmp_path: Path):
    texts = []
    for aligned in (True, False):
        path = tmp_path / f"{aligned}.cubin"
        assembler.compile(Job(kernels, "scale", scale("float32"), "sm_90", aligned=aligned, keep=path))
        texts.append(path.read_bytes())
    assert texts[0] != texts[1]
    assert all(text.startswith(b"\x7fELF") for text in texts)


def test_remarks_tell_tensor_cores_from_scalar_code(kernels: Path, assembler: Assembler):
    fast = assembler.compile(Job(kernels, "product", product("bfloat16", 64, 64, 32), "sm_90"))
    slow = assembler.compile(Job(kernels, "product", product("float32", 16, 16, 16), "sm_90"))
    assert fast.error is None
    assert not fast.scalar_contractions
    assert any("Tensor" in remark.message for remark in fast.remarks)
    assert [remark.line for remark in slow.scalar_contractions] == [
        next(number for number, line in enumerate(KERNELS.splitlines(), 1) if "ct.mma" in line)
    ]


def test_hints_change_the_code(kernels: Path, assembler: Assembler):
    job = Job(kernels, "product", product("float16", 128, 128, 64), "sm_90", {"num_worker_warps": 8})
    assert assembler.compile(job).threads == 384


def test_a_refused_kernel_names_its_line(kernels: Path, assembler: Assembler):
    done = assembler.compile(Job(kernels, "scale", scale("float16", 1000), "sm_90"))
    assert done.error is not None
    assert done.error.kind == "refused"
    assert done.error.exception == "TypeCheckingError"
    assert "not a power of two" in done.error.message
    assert done.error.file == str(kernels.resolve())
    assert "ct.load(x" in KERNELS.splitlines()[done.error.line - 1]


def test_a_missing_feature_is_told_from_a_fault(kernels: Path, assembler: Assembler):
    done = assembler.compile(Job(kernels, "scale", scale("float8_e4m3fn"), "sm_80"))
    assert done.error is not None
    assert done.error.kind == "unsupported"
    assert assembler.compile(Job(kernels, "scale", scale("float8_e4m3fn"), "sm_90")).error is None


def test_the_front_end_alone_needs_no_target(kernels: Path, assembler: Assembler):
    assert assembler.compile(Job(kernels, "scale", scale("float16"), None)).error is None
    assert assembler.compile(Job(kernels, "scale", scale("float16", 3), None)).error is not None


def test_a_limit_on_time_is_kept(kernels: Path):
    with Assembler(1, timeout=0.05) as pool:
        done = pool.compile(Job(kernels, "product", product("float16", 256, 256, 64), "sm_90"))
    assert done.error is not None
    assert done.error.kind == "timeout"


def test_a_dying_process_costs_one_kernel(kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    broken = tmp_path / "broken.py"
    broken.write_text(PRINTS)
    monkeypatch.setenv("TILESPEC_TEST_DIE", "1")
    jobs = [
        Job(broken, "nothing", [array("x", "float32")], None),
        Job(kernels, "scale", scale("float32"), None),
    ]
    seen = []
    with Assembler(1) as pool:
        done = pool.compile_all(jobs, lambda *step: seen.append(step[:2]))
    assert [each.error.kind if each.error else None for each in done] == ["crash", None]
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("text", "exception", "line"),
    [
        ("import nowhere_at_all", "ModuleNotFoundError", 1),
        ("x = 1\nx = (", "SyntaxError", 2),
        ("x = 1", "AttributeError", None),
        ("import cuda.tile as ct\n\nct.kernel(speed=1)(print)", "TypeError", 3),
    ],
)
def test_a_module_that_cannot_be_imported(
    tmp_path: Path, assembler: Assembler, text: str, exception: str, line: int | None
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(text)
    done = assembler.compile(Job(broken, "k", [], None))
    assert done.error is not None
    assert (done.error.kind, done.error.exception, done.error.line) == ("refused", exception, line)


def test_a_missing_file(tmp_path: Path, assembler: Assembler) -> None:
    done = assembler.compile(Job(tmp_path / "none.py", "k", [], None))
    assert done.error is not None
    assert (done.error.kind, done.error.exception) == ("refused", "FileNotFoundError")


def test_what_a_module_prints_is_no_answer(tmp_path: Path, assembler: Assembler):
    talking = tmp_path / "talking.py"
    talking.write_text(PRINTS)
    assert assembler.compile(Job(talking, "nothing", [array("x", "float32")], None)).error is None


def test_an_interrupt_ends_the_processes(kernels: Path):
    def interrupt(*_step: object) -> None:
        raise KeyboardInterrupt

    pool = Assembler(1)
    worker = pool._workers[0]
    with pytest.raises(KeyboardInterrupt):
        pool.compile_all([Job(kernels, "scale", scale("float32"), None)] * 3, interrupt)
    assert worker._process is None
    assert not Path(pool._folder.name).exists()


def test_a_process_that_was_killed_is_replaced(kernels: Path, assembler: Assembler):
    job = Job(kernels, "scale", scale("float32"), None)
    assembler.compile(job)
    process = assembler._workers[0]._process
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert assembler.compile(job).error is None


def test_resources_of_something_else_are_nothing():
    assert resources(b"no ELF file") == Resources()


def test_resources_are_read_from_the_attributes_of_a_section():
    info = struct.pack("<BBHII", 4, 0x2F, 8, 1, 40) + struct.pack("<BBHII", 4, 0x11, 8, 1, 24)
    names = b"\0.nv.info\0.nv.shared.k\0.shstrtab\0"
    start = 64
    headers = start + len(info) + len(names)

    def header(name: bytes, kind: int, offset: int, size: int) -> bytes:
        return struct.pack("<IIQQQQIIQQ", names.index(name), kind, 0, 0, offset, size, 0, 0, 1, 0)

    body = b"".join(
        (
            struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
            header(b".nv.info", 1, start, len(info)),
            header(b".nv.shared.k", 8, 0, 512),
            header(b".shstrtab", 3, start + len(info), len(names)),
        )
    )
    front = bytearray(64)
    front[:4] = b"\x7fELF"
    struct.pack_into("<Q", front, 0x28, headers)
    struct.pack_into("<HHH", front, 0x3A, 64, 4, 3)
    assert resources(bytes(front) + info + names + body) == Resources(40, 512, 24, 0)


def test_a_reason_that_is_repeated_is_given_once():
    report = """--- !Failure
Pass:            Memory
DebugLoc:        { File: 'k.py', Line: 7, Column: 12 }
Args:
  - RemarkId:    5
  - Remark:      Failed to select TMA load instruction
  - Reason:      'loc("k.py":7:12): stride not 16-byte aligned'
  - Reason:      'loc("k.py":7:12): stride not 16-byte aligned'
...
"""
    message = "Failed to select TMA load instruction: stride not 16-byte aligned"
    assert _remarks(report * 2) == [{"category": "memory", "message": message, "line": 7, "passed": False}]


SOURCE = SourceText("one.tilespec", "KERNEL SPEC: one\n")
WHOLE = Span(13, 16)


def answered(**facts: object) -> Assembly:
    return Assembly("one", "sm_80", aligned=True, seconds=2.0, **facts)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("refused", "TS701"),
        ("unsupported", "TS702"),
        ("timeout", "TS703"),
        ("crash", "TS704"),
        ("toolchain", "TS705"),
    ],
)
def test_every_kind_of_failure_has_its_code(kind: str, code: str):
    failed = answered(error=AssemblyError(kind, "SomeError", "first\nsecond", "one.py", 3))
    (found,) = findings([failed], SOURCE, WHOLE, lambda line: Span(0, line))
    assert found.code == code
    assert found.severity is Severity.ERROR
    assert found.span == Span(0, 3)
    assert found.notes == ("generated code: one.py:3",)
    assert "\n" not in found.message


def test_a_failure_without_a_line_points_at_the_kernel():
    failed = answered(error=AssemblyError("refused", "SomeError", "why"))
    (found,) = findings([failed], SOURCE, WHOLE)
    assert found.span == WHOLE


def test_slow_code_is_a_warning():
    remark = Remark("tensor-core", "failed", 5, passed=False)
    slow = answered(frame=1280, remarks=(remark, remark, Remark("memory", "failed", 5, passed=False)))
    assert [(each.code, each.severity) for each in findings([slow], SOURCE, WHOLE)] == [
        ("TS706", Severity.WARNING),
        ("TS707", Severity.WARNING),
    ]


def test_one_cause_gives_one_finding_for_all_targets() -> None:
    def failed(target: str, message: str, *, aligned: bool) -> Assembly:
        return Assembly(
            "one", target, aligned, 1.0, error=AssemblyError("unsupported", "SomeError", message, "a.py", 3)
        )

    made = [
        failed(target, f"fp8 is not supported on {target}", aligned=aligned)
        for target in ("sm_80", "sm_89")
        for aligned in (True, False)
    ]
    made.append(failed("sm_80", "another thing", aligned=True))
    first, second = findings(made, SOURCE, WHOLE, kernel="ffn")
    assert first.message == "kernel `ffn` can't run on sm_80, sm_89: fp8 is not supported on the target"
    assert second.message == "kernel `ffn` can't run on sm_80: another thing"


def test_the_worker_does_not_import_torch(assembler: Assembler, tmp_path: Path):
    probe = tmp_path / "probe.py"
    probe.write_text(
        f"{KERNELS}\nif hasattr(torch, '__version__'):\n    raise ImportError('the real torch')\n"
    )
    assert assembler.compile(Job(probe, "scale", scale("float16"), None)).error is None
