"""Files as they are at a revision, read through git's plumbing: nothing is checked out, no hook or filter runs."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tilespec.cli.files import SUFFIX
from tilespec.cli.linting.run import Summarised
from tilespec.diagnostics import Diagnostic, SourceText
from tilespec.rules.package import CoverageRemoved, KernelRemoved

__all__ = ["Revision", "RevisionError", "introduced", "removed"]


class RevisionError(Exception):
    """Why nothing can be compared with a revision, in words for the reader."""


class Revision:
    """A commit of the repository that holds the working directory or `near`."""

    def __init__(self, name: str, near: Path) -> None:
        folder = near if near.is_dir() else near.parent
        self.root = Path(_git(folder, "rev-parse", "--show-toplevel").decode().rstrip("\n"))
        # `--end-of-options`: a name that starts with a dash is a name, and no option.
        found = _git(self.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        self.commit = found.decode().strip()
        self.renamed, self.deleted, self.changed = self._changes()

    def _changes(self) -> tuple[dict[str, str], list[str], set[str]]:
        """Return old names by new name, deleted files, and every name that differs from the working tree."""
        output = _git(
            self.root,
            "diff",
            "--name-status",
            "-z",
            "--find-renames",
            "--no-ext-diff",
            "--no-textconv",
            self.commit,
        )
        words = iter(output.decode("utf-8", "surrogateescape").split("\0"))
        renamed: dict[str, str] = {}
        deleted: list[str] = []
        changed: set[str] = set()
        for status in words:
            if not status:
                break
            name = next(words)
            if status[0] in "RC":
                new = next(words)
                renamed[new] = name
                changed.add(new)
            elif status[0] == "D":
                deleted.append(name)
            else:
                changed.add(name)
        return renamed, deleted, changed

    def name_of(self, path: Path) -> str | None:
        """Return the name of a file in the repository; None outside of it."""
        try:
            return path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return None

    def text(self, name: str) -> bytes | None:
        """Return the bytes of a file at the revision; None when it has none."""
        try:
            return _git(self.root, "cat-file", "blob", f"{self.commit}:{self.renamed.get(name, name)}")
        except RevisionError:
            return None

    def deleted_below(self, paths: Iterable[Path]) -> list[tuple[Path, str]]:
        """Return the spec files that are gone and stood at or below one of `paths`."""
        wanted = [path.resolve() for path in paths]
        found = []
        for name in self.deleted:
            whole = self.root.resolve() / name
            if name.endswith(SUFFIX) and any(whole == path or path in whole.parents for path in wanted):
                found.append((whole, name))
        return found


def _git(folder: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command; what comes from outside stands behind options
            ["git", "-C", str(folder), *arguments],  # noqa: S607 - the reader's own git
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        message = "git isn't installed"
        raise RevisionError(message) from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        raise RevisionError(reason.removeprefix("fatal: ") or "no such commit")
    return done.stdout


def introduced(now: Sequence[Diagnostic], before: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return the findings of `now` that `before` has not; a finding is known by its code and message, not its line."""
    known = Counter((item.code, item.message) for item in before)
    kept = []
    for item in now:
        key = (item.code, item.message)
        if known[key]:
            known[key] -= 1
        else:
            kept.append(item)
    return kept


def removed(
    source: SourceText, now: Summarised | None, before: Summarised | None, revision: str
) -> list[Diagnostic]:
    """Say which operations and kernels were covered at the revision, and are no longer."""
    if before is None:
        return []
    findings: list[Diagnostic] = []
    covered = {name for name, _ in now.covered} if now is not None else set[str]()
    kept = {name for name, _ in now.kept} if now is not None else set[str]()
    left = {*kept, *(now.gaps if now is not None else ())}
    for name, kernels in before.covered:
        if name in left and name not in covered:
            how = "stays in PyTorch" if name in kept else "is performed by no kernel"
            findings.append(CoverageRemoved(name, kernels[0], how, revision).at(source, None))
    present = set(now.kernels) if now is not None else set[str]()
    if now is not None or not source.text:
        gone = [ident for ident in before.kernels if ident not in present]
        for ident in gone:
            did = tuple(name for name, kernels in before.covered if ident in kernels)
            findings.append(KernelRemoved(ident, did, revision).at(source, None))
    return findings
