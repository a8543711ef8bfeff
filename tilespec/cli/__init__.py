"""The command line: one file a command, under `commands/`; neither torch nor jinja2 is loaded at import."""

from __future__ import annotations

import errno
import gc
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilespec.diagnostics import Rule

__all__ = ["main"]

_INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit: 0 clean, 1 findings, 2 usage, 130 interrupted.

    Whatever goes wrong ends as a finding on stderr. `TILESPEC_TRACEBACK=1` adds the traceback of a fault of ours.
    """
    # A run makes trees that stay, and hardly a cycle: the usual thresholds spend a fifth of the time looking for some.
    gc.set_threshold(100_000, 50, 50)
    try:
        from tilespec.cli.app import app

        app()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    except BrokenPipeError:
        # The reader went away (`tilespec lint | head`): nothing is left to say, also not at interpreter exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        sys.exit(_report_os_error(error))
    except ModuleNotFoundError as error:
        sys.exit(_report_missing_module(error))
    except Exception as error:  # noqa: BLE001 - the one place where a fault of ours becomes a finding
        sys.exit(_report_fault(error))


def _report_os_error(error: OSError) -> int:
    from tilespec.rules.environment import DiskFull, UnwritablePath

    path = str(error.filename or "output")
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return _report(DiskFull(path))
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR, errno.EEXIST}:
        return _report(UnwritablePath(path, (error.strerror or "not allowed").lower()))
    return _report_fault(error)


def _report_missing_module(error: ModuleNotFoundError) -> int:
    from tilespec.rules.environment import MissingPackage

    module = (error.name or "").partition(".")[0]
    # A module of ours that is missing is a fault of ours, not of the machine.
    if module in {"", "tilespec"}:
        return _report_fault(error)
    return _report(MissingPackage({"cuda": "cuda-tile"}.get(module, module)))


def _report_fault(error: Exception) -> int:
    from tilespec.rules.environment import InternalError

    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}tilespec{os.sep}" in frame.filename] or list(frames)
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "start"
    words = " ".join(str(error).split()) or "no message"
    code = _report(InternalError(f"{type(error).__name__}: {words}", place))
    if os.environ.get("TILESPEC_TRACEBACK"):
        traceback.print_exception(error)
    return code


def _report(rule: Rule) -> int:
    from tilespec.cli.report.text import render
    from tilespec.diagnostics import SourceText

    sys.stderr.write(render(rule.at(SourceText("tilespec", ""), None)))
    return 1
