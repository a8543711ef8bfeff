"""The process that compiles: reads one request a line, writes one answer a line.

It lives as long as its pool, so that Python and `cuda.tile` start once, not once a kernel. It never imports torch:
`stand_in` takes its place.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import traceback
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Final

from tilespec.assemble import stand_in
from tilespec.assemble.cubin import resources

__all__ = ["main", "serve"]

_REMARK: Final = re.compile(r"^--- !(?P<kind>\w+)\n(?P<body>.*?)^\.\.\.", re.MULTILINE | re.DOTALL)
_ARGUMENT: Final = re.compile(r"^  - (\w+):\s*(.*(?:\n {4,}.*)*)", re.MULTILINE)
_PLACE: Final = re.compile(r"""loc\("[^"]*":\d+:\d+\):""")
_TOOLCHAIN_CODE: Final = 5


class _BadModuleError(Exception):
    """A generated module that can't be imported, or lacks the kernel; holds what was raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _Modules:
    """Generated modules by path, loaded once each."""

    def __init__(self) -> None:
        self._loaded: dict[tuple[str, int], ModuleType] = {}

    def get(self, path: str) -> ModuleType:
        """Import the file at `path`, unless that text is loaded already."""
        key = (path, Path(path).stat().st_mtime_ns)
        module = self._loaded.get(key)
        if module is None:
            name = f"tilespec_generated_{len(self._loaded)}_{Path(path).stem}"
            spec = importlib.util.spec_from_file_location(name, path)
            if spec is None or spec.loader is None:
                msg = f"{path} is no Python file"
                raise ImportError(msg)
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            self._loaded[key] = module
        return module


def _text(body: str) -> str:
    """Join the arguments of one remark; a reason that is repeated for each copy of a load is given once."""
    parts: dict[str, None] = {}
    for name, value in _ARGUMENT.findall(body):
        words = _PLACE.sub("\n", value.replace("'", ""))
        reasons = dict.fromkeys(" ".join(reason.split()) for reason in words.splitlines() if reason.strip())
        if name != "RemarkId" and reasons:
            parts["; ".join(reasons)] = None
    return ": ".join(parts)


def _remarks(text: str) -> list[dict[str, Any]]:
    """Read the report of the target compiler, without repetitions."""
    listed: dict[str, dict[str, Any]] = {}
    for match in _REMARK.finditer(text):
        body = match["body"]
        category = re.search(r"^Pass:\s*(\S+)", body, re.MULTILINE)
        line = re.search(r"\bLine:\s*(\d+)", body)
        message = _text(body)
        remark = {
            "category": category[1].lower() if category else "",
            "message": message,
            "line": int(line[1]) if line else None,
            "passed": match["kind"] == "Passed" and "failed" not in message.lower(),
        }
        listed.setdefault(json.dumps(remark), remark)
    return [listed[key] for key in sorted(listed, key=lambda key: (listed[key]["line"] or 0, key))]


def _compile(request: dict[str, Any], modules: _Modules) -> dict[str, Any]:
    from cuda.tile.compilation import export_kernel  # noqa: PLC0415 - its failure is an answer

    from tilespec.assemble.signature import signature  # noqa: PLC0415 - imports cuda.tile

    try:
        kernel = getattr(modules.get(request["module_path"]), request["function"])
    except Exception as error:
        raise _BadModuleError(error) from error
    if request["hints"]:
        kernel = kernel.replace_hints(**request["hints"])
    wanted = signature(request["arguments"], request["function"], aligned=request["aligned"])
    target = request["target"]
    stream = io.BytesIO()
    export_kernel(kernel, [wanted], stream, gpu_code=target, output_format="tileir_bytecode")
    if target is None:
        return {}
    cubin, remarks = _assemble(stream.getvalue(), kernel, target, request["timeout"])
    if request["keep"]:
        Path(request["keep"]).write_bytes(cubin)
    used = resources(cubin)
    return {
        "cubin_size": len(cubin),
        "registers": used.registers,
        "shared": used.shared,
        "frame": used.frame,
        "threads": used.threads,
        "remarks": remarks,
    }


def _assemble(
    bytecode: bytes,
    kernel: Any,  # noqa: ANN401 - a kernel of cuda.tile
    target: str,
    timeout: float,
) -> tuple[bytes, list[dict[str, Any]]]:
    """Run the target compiler; the same call as `launch` makes, with remarks switched on."""
    from cuda.tile._compile import compile_cubin  # noqa: PLC0415 - public calls give no remarks

    with tempfile.TemporaryDirectory(prefix="tilespec-") as folder:
        source = Path(folder) / "kernel.bytecode"
        source.write_bytes(bytecode)
        report = Path(folder) / "remarks.yaml"
        options = kernel._compiler_options  # noqa: SLF001 - the public export gives no remarks
        cubin = compile_cubin(str(source), options, target, timeout, remarks_output_file=report)
        remarks = _remarks(report.read_text("utf-8", "replace")) if report.exists() else []
        return Path(cubin).read_bytes(), remarks


def _kind(error: Exception) -> str:
    name = type(error).__name__
    if name.endswith("TimeoutError"):
        return "timeout"
    if name.endswith("UnsupportedFeatureError"):
        return "unsupported"
    if isinstance(error, (FileNotFoundError, ImportError)):
        return "toolchain"
    ended = re.match(r"Return code (-?\d+)", str(getattr(error, "message", "")))
    if ended:
        code = int(ended[1])
        return "toolchain" if code == _TOOLCHAIN_CODE else "crash" if code < 0 else "refused"
    return "refused"


def _place(error: Exception, path: str) -> tuple[str | None, int | None, int | None]:
    """Return file, line and column: from the compiler, else the last line of the module in the traceback."""
    loc = getattr(error, "loc", None)
    if loc is not None and getattr(loc, "filename", None):
        return loc.filename, loc.line, loc.col
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return error.filename, error.lineno, error.offset
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return (path, lines[-1], None) if lines else (None, None, None)


def _failure(error: Exception, path: str) -> dict[str, Any]:
    kind = "refused" if isinstance(error, _BadModuleError) else _kind(error)
    if isinstance(error, _BadModuleError):
        error = error.cause
    file, line, column = _place(error, path)
    return {
        "error": {
            "kind": kind,
            "exception": type(error).__name__,
            "message": str(getattr(error, "message", "") or error).strip(),
            "file": file,
            "line": line,
            "column": column,
        }
    }


def serve(requests: IO[str], answers: IO[str]) -> None:
    """Answer requests until there are no more."""
    modules = _Modules()
    for line in requests:
        request = json.loads(line)
        try:
            answer = _compile(request, modules)
        except Exception as error:  # noqa: BLE001 - whatever the compiler raises becomes the answer
            answer = _failure(error, request["module_path"])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main() -> None:
    """Serve on standard input and output; what modules print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    stand_in.install(sys.modules)
    serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
