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
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Final

from tilespec.assemble import stand_in
from tilespec.assemble.cubin import resources

__all__ = ["main", "serve"]

_REMARK: Final = re.compile(r"^--- !(?P<kind>\w+)\n(?P<body>.*?)^\.\.\.", re.MULTILINE | re.DOTALL)
_TOOLCHAIN_CODE: Final = 5


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


def _fields(body: str) -> dict[str, str]:
    """Read the top-level `key: value` pairs of one remark."""
    found = {}
    for line in body.splitlines():
        key, colon, value = line.partition(":")
        if colon and key and not key[0].isspace():
            found[key.strip()] = value.strip().strip("'\"")
    return found


def _remarks(text: str) -> list[dict[str, Any]]:
    listed = []
    for match in _REMARK.finditer(text):
        body = match["body"]
        fields = _fields(body)
        line = re.search(r"\bLine:\s*(\d+)", body)
        words = re.findall(r"^\s*-\s*\w+:\s*(.*)$", body, re.MULTILINE)
        listed.append(
            {
                "category": fields.get("Pass", ""),
                "message": " ".join(" ".join(word.strip().strip("'\"") for word in words).split()),
                "line": int(line[1]) if line else None,
                "passed": match["kind"] == "Passed",
            }
        )
    return listed


def _compile(request: dict[str, Any], modules: _Modules) -> dict[str, Any]:
    from cuda.tile.compilation import export_kernel  # noqa: PLC0415 - a failure of it is an answer

    from tilespec.assemble.signature import signature  # noqa: PLC0415 - imports cuda.tile

    module = modules.get(request["module_path"])
    kernel = getattr(module, request["function"])
    if request["hints"]:
        kernel = kernel.replace_hints(**request["hints"])
    wanted = signature(request["arguments"], request["function"], aligned=request["aligned"])
    target = request["target"]
    stream = io.BytesIO()
    export_kernel(kernel, [wanted], stream, gpu_code=target, output_format="tileir_bytecode")
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


def _assemble(bytecode: bytes, kernel: Any, target: str, timeout: float) -> tuple[bytes, list[dict[str, Any]]]:  # noqa: ANN401
    """Run the target compiler; the same call as `launch` makes, with remarks switched on."""
    from cuda.tile._compile import compile_cubin  # noqa: PLC0415, PLC2701 - the public export gives no remarks

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
    code = getattr(error, "return_code", None)
    if isinstance(code, int):
        if code == _TOOLCHAIN_CODE:
            return "toolchain"
        if code < 0:
            return "crash"
    return "refused"


def _failure(error: Exception) -> dict[str, Any]:
    place = getattr(error, "loc", None)
    known = place is not None and bool(getattr(place, "filename", None))
    message = str(getattr(error, "message", "") or error)
    return {
        "error": {
            "kind": _kind(error),
            "exception": type(error).__name__,
            "message": message.strip(),
            "file": place.filename if known else None,  # type: ignore[union-attr]
            "line": place.line if known else None,  # type: ignore[union-attr]
            "column": place.col if known else None,  # type: ignore[union-attr]
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
            answer = _failure(error)
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
