"""What is wrong with a machine: each check reads a `Machine` and yields findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from tilespec.cli.doctor.machine import COMPILER_PACKAGES, Machine
from tilespec.cli.doctor.targets import TARGETS
from tilespec.diagnostics import Diagnostic, Severity, SourceText
from tilespec.rules import environment as rules

__all__ = ["CHECKS", "abilities", "check_machine", "check_targets"]

MACHINE = SourceText("this machine", "")
"""What findings about a machine point at."""

_NEEDED = {"torch": ((2, 11), ">=2.11"), "cuda-tile": ((1, 7), ">=1.7,<1.8")}
_DRIVER = 580
_CAPABILITY = (8, 0)
_COMPILER = (13, 3)

Check = Callable[[Machine], Iterator[rules.EnvironmentRule]]


def check_machine(machine: Machine, targets: Iterable[str] = ()) -> list[Diagnostic]:
    """Return every finding about a machine, and about the targets that it is asked to compile for."""
    found = [rule for check in CHECKS for rule in check(machine)]
    found += check_targets(targets)
    return [bind(rule) for rule in found]


def bind(rule: rules.EnvironmentRule) -> Diagnostic:
    """Make the finding, with a note on each command that it limits."""
    notes = tuple(f"{command}: {text}" for command, text in rule.effects().items() if text)
    return rule.at(MACHINE, None, notes=notes)


def check_targets(targets: Iterable[str]) -> list[rules.EnvironmentRule]:
    """Return a finding for every target that the compiler doesn't know."""
    return [rules.UnsupportedTarget(target, TARGETS) for target in targets if target not in TARGETS]


def abilities(findings: Iterable[Diagnostic], machine: Machine) -> dict[str, str]:
    """Sum up what `build`, `verify` and `bench` can do here: the last word of the most severe finding on each."""
    ranked = sorted(findings, key=lambda item: list(Severity).index(item.severity))
    result = {
        "build": "ready, with every target" if machine.compiler else "ready, without `--compile`",
        "verify": "ready, on the GPU" if machine.gpus else "ready, in the tile interpreter",
        "bench": "ready",
    }
    for command in result:
        for finding in ranked:
            said = [note.partition(": ")[2] for note in finding.notes if note.startswith(f"{command}: ")]
            if said:
                result[command] = said[0]
                break
    return result


def _python(machine: Machine) -> Iterator[rules.EnvironmentRule]:
    if machine.python < (3, 11):
        yield rules.UnsupportedPython(".".join(str(part) for part in machine.python))


def _packages(machine: Machine) -> Iterator[rules.EnvironmentRule]:
    for package, (lowest, needed) in _NEEDED.items():
        found = machine.packages.get(package)
        if found is None:
            yield rules.MissingPackage(package, needed)
            continue
        release = _release(found)
        # cuda.tile is still growing: code for one minor release isn't code for the next.
        too_new = package == "cuda-tile" and release is not None and release > lowest
        if release is None or release < lowest or too_new:
            yield rules.UnsupportedPackage(package, found, needed)


def _gpu(machine: Machine) -> Iterator[rules.EnvironmentRule]:
    if not machine.gpus:
        yield rules.NoGpu(machine.gpu_reason)
    for gpu in dict.fromkeys(machine.gpus):
        if gpu.capability < _CAPABILITY:
            yield rules.GpuTooOld(gpu.name, f"{gpu.capability[0]}.{gpu.capability[1]}")


def _driver(machine: Machine) -> Iterator[rules.EnvironmentRule]:
    release = _release(machine.driver)
    if machine.driver and release and release[0] < _DRIVER:
        yield rules.DriverTooOld(machine.driver)


def _torch(machine: Machine) -> Iterator[rules.EnvironmentRule]:
    if machine.gpus and "torch" in machine.packages and machine.torch_cuda is None:
        yield rules.TorchWithoutCuda(machine.packages["torch"])


def _compiler(machine: Machine) -> Iterator[rules.EnvironmentRule]:
    versions = tuple((name, machine.packages[name]) for name in COMPILER_PACKAGES if name in machine.packages)
    if len(versions) == len(COMPILER_PACKAGES) and len({_release(version) for _, version in versions}) > 1:
        yield rules.MismatchedCompilerPackages(versions)
    elif machine.compiler is None:
        yield rules.CompilerMissing()
    if machine.compiler is None:
        return
    release = _release(machine.compiler.version)
    if release and release < _COMPILER:
        yield rules.CompilerTooOld(machine.compiler.path, machine.compiler.version or "")
    causes = list(_cuda_home(machine))
    yield from causes
    # A known cause explains the failure: one fault, one finding.
    if machine.compile_complaint and not causes:
        yield rules.CompilerFails(machine.compiler.path, machine.compile_complaint)


def _cuda_home(machine: Machine) -> Iterator[rules.EnvironmentRule]:
    compiler = machine.compiler
    if compiler is None or not compiler.reads_cuda_home:
        return
    compiled = _release(compiler.version)
    for toolkit in machine.toolkits:
        release = _release(toolkit.version)
        if compiled and release and release < compiled:
            yield rules.OlderCudaHome(
                toolkit.variable,
                toolkit.path,
                toolkit.version or "",
                ".".join(str(part) for part in compiled),
            )


def _release(version: str | None) -> tuple[int, int] | None:
    """Return major and minor of a version, None when it has no two numbers."""
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return (int(found[1]), int(found[2])) if found else None


CHECKS: tuple[Check, ...] = (_python, _packages, _gpu, _driver, _torch, _compiler)
"""In the order in which a person would mend things."""
