"""The stages in order, from a path to a built package. The first file to read.

    read_source      path         -> text                      syntax
    parse            text         -> tree with spans           syntax
    build_model      tree         -> validated model           model
    trace_kernel     reference    -> ATen graph                reference
    examine          references   -> wiring, coverage          coverage
    lower            graph        -> tile program              lowering
    schedule_program tile program -> launches, tiles, loops    schedule
    render_module    schedule     -> text of one kernel file   render
    write_package    texts        -> build/<file>/             build
    Assembler        kernel file  -> cubin                     assemble

Each returns findings beside its result; nothing here prints. Heavy imports (torch, jinja2) happen when a stage needs
them, so that an unchanged build and a syntax check load neither.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tilespec.build.digest import is_fresh, source_digest
from tilespec.diagnostics import Diagnostic, Severity, SourceText
from tilespec.model.build import build_model
from tilespec.progress import Progress, Silent
from tilespec.rules.environment import DiskFull, UnwritablePath
from tilespec.rules.package import StalePackage
from tilespec.rules.schedule import NoSchedule, UndeterminedSize
from tilespec.syntax import apply_suppressions, parse, read_source
from tilespec.syntax.names import is_safe_name

if TYPE_CHECKING:
    from tilespec.coverage import Coverage, WiringProof
    from tilespec.ir.nodes import Program
    from tilespec.model.dims import Expr
    from tilespec.model.types import Kernel, SpecFile
    from tilespec.reference.graph import Graph
    from tilespec.render.module import KernelModule
    from tilespec.schedule.plan import ModulePlan

__all__ = [
    "BuildOptions",
    "BuildReport",
    "BuiltFile",
    "Checked",
    "build_paths",
    "check_file",
    "check_paths",
    "check_source",
    "show",
]


@dataclass
class Checked:
    """What checking a file found out; stages that could not run left nothing."""

    findings: list[Diagnostic] = field(default_factory=list)
    spec: SpecFile | None = None
    graphs: dict[str, Graph] = field(default_factory=dict)
    end_to_end: Graph | None = None
    proof: WiringProof | None = None
    coverage: Coverage | None = None
    programs: dict[str, Program] = field(default_factory=dict)
    plans: dict[str, dict[tuple[str, ...], ModulePlan]] = field(default_factory=dict)
    """For each kernel, a plan for each choice of dtypes of its type variables."""
    fixed: dict[str, dict[str, float | bool]] = field(default_factory=dict)
    """For each kernel, the scalars that decided its trace: other values need another kernel."""

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(item.severity is Severity.ERROR for item in self.findings)


@dataclass(frozen=True)
class BuildOptions:
    """What `build` is asked for. `targets` are compiled for after writing; `check` writes nothing."""

    out: Path = Path("build")
    check: bool = False
    targets: tuple[str, ...] = ()
    jobs: int = 1


@dataclass(frozen=True)
class BuiltFile:
    """One spec file of a build; `status` is `built`, `unchanged`, `stale` or `failed`."""

    spec: Path
    folder: Path
    status: str


@dataclass(frozen=True)
class BuildReport:
    """The whole build."""

    files: tuple[BuiltFile, ...]
    findings: list[Diagnostic]


def check_file(path: Path) -> Checked:
    """Run every stage up to the schedules."""
    source, found = read_source(path)
    if source is None:
        return Checked(findings=found)
    checked = check_source(source)
    checked.findings[:0] = found
    return checked


def check_source(source: SourceText, *, trace: bool = True, trust_source: bool = False) -> Checked:
    """Run every stage up to the schedules on a text; without `trace` only those that need no torch.

    With `trust_source`, the file that `Source` names is imported, which runs its code.
    """
    checked = Checked()
    tree, found = parse(source)
    checked.spec, more = build_model(tree)
    collected = [*found, *more]
    wrong = any(item.severity is Severity.ERROR for item in collected)
    run = trace and not wrong and checked.spec is not None
    if run and checked.spec is not None:
        collected += _trace_and_plan(checked.spec, checked, trust_source=trust_source)
    # A stage that didn't run can't have made the findings that a suppression waits for.
    checked.findings = apply_suppressions(tree, collected, complete=run)
    return checked


def _trace_and_plan(spec: SpecFile, checked: Checked, *, trust_source: bool) -> list[Diagnostic]:
    from tilespec.coverage import examine
    from tilespec.reference.trace import trace_kernel

    examined = examine(spec, trust_source=trust_source)
    findings = list(examined.findings)
    checked.graphs = dict(examined.graphs)
    checked.end_to_end = examined.end_to_end
    checked.proof = examined.proof
    checked.coverage = examined.coverage
    for kernel in spec.kernels:
        if kernel.id not in checked.graphs:
            continue
        first, *others = type_choices(spec, kernel)
        found = _plan_kernel(spec, kernel, checked.graphs[kernel.id], tuple(first.values()), checked)
        for types in others:
            graph, more = trace_kernel(spec, kernel, types=types)
            if graph is not None:
                more = [*more, *_plan_kernel(spec, kernel, graph, tuple(types.values()), checked)]
            # What holds for every dtype is said once.
            found += [item for item in more if item not in found and item not in findings]
        findings += found
    return findings


def type_choices(spec: SpecFile, kernel: Kernel) -> list[dict[str, str]]:
    """Return every choice of dtypes for the type variables of a kernel, the default first; one empty choice for none."""
    names = dict.fromkeys(
        item.dtype for item in (*kernel.tensors, *kernel.outputs) if item.dtype in spec.types
    )
    return [
        dict(zip(names, choice, strict=True))
        for choice in itertools.product(*(spec.types[name] for name in names))
    ]


def _plan_kernel(
    spec: SpecFile, kernel: Kernel, graph: Graph, dtypes: tuple[str, ...], checked: Checked
) -> list[Diagnostic]:
    """Lower and schedule a traced kernel for one choice of dtypes."""
    from tilespec.lowering import lower
    from tilespec.lowering.multiples import multiples
    from tilespec.reference.graph import rename
    from tilespec.schedule.choose import schedule_program

    graph, missing = rename_symbols(spec, graph, kernel)
    if missing is not None:
        span = next(
            (item.shape_span for item in kernel.tensors if _mentions(item.shape, missing)), kernel.span
        )
        return [UndeterminedSize(missing).at(spec.source, span)]
    name = "_".join([kernel.id, *([""] if dtypes else []), *dtypes])
    lowered = partial(
        lower,
        numerics=kernel.numerics,
        source=spec.source,
        outputs=[item.name for item in kernel.outputs],
    )
    program, findings = lowered(replace(graph, name=name))
    if program is None:
        return findings
    renamed = _renamed_symbols(kernel)
    dims = {renamed.get(symbol, symbol): item for symbol, item in spec.dims.items()}
    whole = multiples(program, dims, {*_names(kernel), *dims})
    if whole:
        graph = rename(graph, whole)
        program, findings = lowered(replace(graph, name=name))
        if program is None:
            return findings
    checked.programs.setdefault(kernel.id, program)
    plan = schedule_program(program)
    if isinstance(plan, list):
        reasons = tuple(f"{item.family}: {item.reason}" for item in plan)
        return [*findings, NoSchedule(kernel.id).at(spec.source, kernel.span, notes=reasons)]
    checked.plans.setdefault(kernel.id, {})[dtypes] = plan
    checked.fixed[kernel.id] = dict(graph.fixed)
    return findings


def _mentions(shape: Sequence[Expr], symbol: str) -> bool:
    return any(symbol in dim.symbols for dim in shape)


def rename_symbols(spec: SpecFile, graph: Graph, kernel: Kernel) -> tuple[Graph, str | None]:
    """Give a graph dim symbols that generated code can have as variables; returns one that no shape determines, too.

    Symbols that are variables of something else there are renamed. Symbols that occur only as one product become one.
    """
    from tilespec.ir.nodes import Tensor
    from tilespec.model.dims import sym
    from tilespec.reference.graph import expressions, rename
    from tilespec.render.launcher import bind_symbols

    mapping = _renamed_symbols(kernel)
    if mapping:
        graph = rename(graph, {old: sym(new) for old, new in mapping.items()})
    while True:
        tensors = [Tensor(name, meta.shape, meta.dtype) for name, meta in graph.inputs]
        found = bind_symbols(tensors, _equations(spec, kernel))
        if not isinstance(found, str):
            return graph, None
        joined = _product_of(found, list(expressions(graph))) or _quotient_of(
            found, [dim for _, meta in graph.inputs for dim in meta.shape]
        )
        if joined is None:
            return graph, found
        graph = rename(graph, joined)


def _equations(spec: SpecFile, kernel: Kernel) -> dict[str, Expr]:
    """Return the equations of `Dims` in the symbols of generated code."""
    from tilespec.model.dims import sym
    from tilespec.model.symbols import dim_equations

    renamed = _renamed_symbols(kernel)
    names = {old: sym(new) for old, new in renamed.items()}
    return {
        renamed.get(name, name): expr.substitute(names) for name, expr in dim_equations(spec.dims).items()
    }


def _product_of(symbol: str, exprs: Sequence[Expr]) -> dict[str, Expr] | None:
    """Return a mapping that makes one symbol of the product that `symbol` only ever occurs in; None without one."""
    from tilespec.model.dims import OpAtom, SymbolAtom, const, sym

    def names(monomial: Sequence[object]) -> list[str]:
        return sorted(atom.name for atom in monomial if isinstance(atom, SymbolAtom))

    inside = {name for expr in exprs for atom in expr.atoms() if isinstance(atom, OpAtom)
              for part in (atom.left, atom.right) for name in part.symbols}  # fmt: skip
    monomials = [names(monomial) for expr in exprs for monomial, _ in expr.terms if monomial]
    using = [item for item in monomials if symbol in item]
    shared = sorted(set(using[0]).intersection(*using)) if using else []
    group = [
        name
        for name in shared
        if name not in inside
        and all(item.count(name) == 1 for item in using)
        and all(symbol in item for item in monomials if name in item)
    ]
    if len(group) < 2 or symbol not in group:
        return None
    return {group[0]: sym("_".join(group)), **{name: const(1) for name in group[1:]}}


def _quotient_of(symbol: str, shapes: Sequence[Expr]) -> dict[str, Expr] | None:
    """Return a mapping that makes a symbol of the one quotient that `symbol` occurs in; None without one.

    A kernel that reads sizes such as `H // 2` can't know `H`, and needn't: all its sizes follow from the quotient `q`,
    so that any `H` with that quotient stands for all of them, `2 * q` among them.
    """
    from tilespec.model.dims import OpAtom, SymbolAtom, sym

    atoms = {
        atom
        for dim in shapes
        for monomial, _ in dim.terms
        for atom in monomial
        if (isinstance(atom, SymbolAtom) and atom.name == symbol)
        or (isinstance(atom, OpAtom) and symbol in atom.left.symbols | atom.right.symbols)
    }
    if len(atoms) != 1:
        return None
    (atom,) = atoms
    if not isinstance(atom, OpAtom) or atom.op != "//" or atom.right.value is None:
        return None
    rest = atom.left - sym(symbol)
    if symbol in rest.symbols:
        return None
    return {symbol: atom.right * sym(f"{symbol}_{atom.right.value}") - rest}


def _names(kernel: Kernel) -> set[str]:
    return {item.name for item in (*kernel.inputs, *kernel.outputs)}


def _renamed_symbols(kernel: Kernel) -> dict[str, str]:
    names = _names(kernel)
    symbols = {name for item in kernel.tensors for dim in item.shape for name in dim.symbols}
    taken = names | symbols
    mapping: dict[str, str] = {}
    for name in sorted(symbols):
        if name in names or name == "TMA_STORE" or name.startswith("BLOCK_") or not is_safe_name(name):
            new = f"size_{name.strip('_')}"
            while new in taken:
                new += "_"
            taken.add(new)
            mapping[name] = new
    return mapping


def check_paths(
    paths: Sequence[Path], *, jobs: int = 1, progress: Progress | None = None
) -> list[Diagnostic]:
    """Check files and return their findings, in the order of the files."""
    display = progress or Silent()
    display.begin("check", len(paths))
    results: list[list[Diagnostic]] = []
    try:
        if jobs > 1 and len(paths) > 1:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            with ProcessPoolExecutor(min(jobs, len(paths)), get_context("spawn")) as pool:
                for path, found in zip(paths, pool.map(_findings_of, paths), strict=True):
                    results.append(found)
                    display.advance(path.as_posix())
        else:
            for path in paths:
                results.append(_findings_of(path))
                display.advance(path.as_posix())
    finally:
        display.end()
    return [item for found in results for item in found]


def _findings_of(path: Path) -> list[Diagnostic]:
    return check_file(path).findings


def build_paths(
    paths: Sequence[Path], options: BuildOptions, progress: Progress | None = None
) -> BuildReport:
    """Build packages below `options.out`, then compile their kernels for `options.targets`."""
    display = progress or Silent()
    files: list[BuiltFile] = []
    findings: list[Diagnostic] = []
    display.begin("build", len(paths))
    try:
        for path in paths:
            built, found = _build_file(path, options)
            files.append(built)
            findings += found
            display.advance(f"{path.as_posix()}: {built.status}")
    finally:
        display.end()
    if options.targets and not options.check:
        from tilespec.build.compile import compile_packages

        ready = [(item.spec, item.folder) for item in files if item.status in {"built", "unchanged"}]
        findings += compile_packages(ready, options.targets, options.jobs, display)
    return BuildReport(tuple(files), findings)


def _build_file(path: Path, options: BuildOptions) -> tuple[BuiltFile, list[Diagnostic]]:
    source, found = read_source(path)
    if source is None:
        return BuiltFile(path, options.out / path.stem, "failed"), found
    folder = options.out / path.stem
    digest = source_digest(source)
    if is_fresh(folder, digest):
        return BuiltFile(path, folder, "unchanged"), []
    if options.check:
        return BuiltFile(path, folder, "stale"), [StalePackage(folder.as_posix()).at(source, None)]
    checked = check_file(path)
    spec = checked.spec
    if checked.has_errors or spec is None or checked.proof is None:
        return BuiltFile(path, folder, "failed"), checked.findings
    from tilespec.build.store import write_package

    files = render_files(
        checked, spec, checked.proof, digest, os.path.relpath(path.resolve(), folder.resolve())
    )
    try:
        write_package(folder, files)
    except OSError as error:
        import errno

        rule = (
            DiskFull(folder.as_posix())
            if error.errno == errno.ENOSPC
            else UnwritablePath(folder.as_posix(), error.strerror or str(error))
        )
        return BuiltFile(path, folder, "failed"), [*checked.findings, rule.at(source, None)]
    return BuiltFile(path, folder, "built"), checked.findings


def render_files(
    checked: Checked, spec: SpecFile, proof: WiringProof, digest: str, spec_path: str
) -> dict[str, str]:
    """Render every file of a package, by its path below the package."""
    from tilespec.build.manifest import manifest_text
    from tilespec.model.wiring import composition_inputs
    from tilespec.render.package import (
        render_composed,
        render_dispatch,
        render_init,
        render_references,
        render_test,
    )

    modules: dict[str, dict[str, KernelModule]] = {}
    files: dict[str, str] = {}
    for kernel in spec.kernels:
        modules[kernel.id] = render_kernels(checked, spec, kernel)
        files |= {f"kernels/{stem}.py": module.text for stem, module in modules[kernel.id].items()}
        if kernel.id not in modules[kernel.id]:
            files[f"kernels/{kernel.id}.py"] = render_dispatch(
                kernel,
                list(checked.plans[kernel.id]),
                list(modules[kernel.id]),
                type_choices(spec, kernel)[0],
            )
    files["kernels/__init__.py"] = f'"""Kernels of {spec.name}, one a file."""\n'
    files["__init__.py"] = render_init(spec)
    references = {kernel.id: kernel.reference for kernel in spec.kernels if kernel.reference is not None}
    files["reference.py"] = render_references(spec, references)
    inputs = {item.name: item.spec for item in composition_inputs(spec, proof.edges)}
    files["composed.py"] = render_composed(spec, proof.edges, inputs, proof.outputs)
    files[f"test_{spec.name}.py"] = render_test(spec, spec_path)
    files["manifest.json"] = manifest_text(
        spec, digest, proof, checked.coverage, checked.plans, modules, files
    )
    return files


def render_kernels(checked: Checked, spec: SpecFile, kernel: Kernel) -> dict[str, KernelModule]:
    """Render the kernel files of one kernel by their stem: one, or one for each choice of dtypes."""
    from tilespec.render.launcher import bind_symbols
    from tilespec.render.module import render_module

    line, _ = spec.source.position(kernel.span.start)
    modules: dict[str, KernelModule] = {}
    for plan in checked.plans[kernel.id].values():
        symbols = bind_symbols(plan.program.inputs, _equations(spec, kernel))
        assert not isinstance(symbols, str)  # noqa: S101 - rename_symbols looked
        modules[plan.name] = render_module(
            plan,
            source=spec.source,
            description=kernel.description,
            defaults=defaults_of(kernel),
            signature=[item.name for item in kernel.inputs],
            symbols=symbols,
            fixed=checked.fixed[kernel.id],
            line=line,
        )
    return modules


def defaults_of(kernel: Kernel) -> Mapping[str, float | bool | None]:
    """Return the default of each scalar; none for one that stands before an argument without a default."""
    defaults: dict[str, float | bool | None] = {}
    later_required = False
    for item in reversed(kernel.inputs):
        default = getattr(item, "default", None)
        defaults[item.name] = None if later_required else default
        later_required = later_required or default is None
    return defaults


def show(path: Path, *, kernel: str | None = None) -> tuple[str, list[Diagnostic]]:
    """Return every stage of the kernels of a file as text: trace, program, schedule with reasons, code."""
    from tilespec.build.show import stages

    checked = check_file(path)
    if checked.spec is None:
        return "", checked.findings
    wanted = [item for item in checked.spec.kernels if kernel in {None, item.id}]
    parts = [
        stages(
            item,
            checked.graphs.get(item.id),
            checked.programs.get(item.id),
            next(iter(checked.plans.get(item.id, {}).values()), None),
            "\n\n".join(module.text for module in render_kernels(checked, checked.spec, item).values())
            if item.id in checked.plans
            else None,
        )
        for item in wanted
    ]
    return "\n".join(parts), checked.findings
