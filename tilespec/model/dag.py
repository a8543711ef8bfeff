"""The graph of kernels: order, levels, cycles, and what a written execution order contradicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilespec.syntax.nodes import Name, OrderNode, names_in_order
from tilespec.syntax.nodes import Sequence as Steps

__all__ = ["ancestors", "contradictions", "find_cycle", "levels_of", "sort_kernels"]

Edges = Mapping[str, Sequence[str]]
"""Kernel id to the ids that it depends on."""


def find_cycle(dependencies: Edges) -> tuple[str, ...] | None:
    """Return the ids of one cycle, each depending on the next and the last on the first; None without one."""
    state: dict[str, int] = {}
    for root in dependencies:
        if state.get(root):
            continue
        path = [root]
        stack = [iter(dependencies[root])]
        state[root] = 1
        while stack:
            for follower in stack[-1]:
                if state.get(follower) == 1:
                    return tuple(path[path.index(follower) :])
                if follower in dependencies and not state.get(follower):
                    state[follower] = 1
                    path.append(follower)
                    stack.append(iter(dependencies[follower]))
                    break
            else:
                state[path.pop()] = 2
                stack.pop()
    return None


def levels_of(dependencies: Edges) -> tuple[tuple[str, ...], ...]:
    """Group an acyclic graph: each kernel in the first level after all that it depends on; file order inside."""
    level: dict[str, int] = {}
    for kernel in sort_kernels(dependencies):
        level[kernel] = 1 + max(
            (level[other] for other in dependencies[kernel] if other in level), default=-1
        )
    groups: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for kernel in dependencies:
        groups[level[kernel]].append(kernel)
    return tuple(tuple(group) for group in groups)


def sort_kernels(dependencies: Edges) -> tuple[str, ...]:
    """Sort an acyclic graph: dependencies first, file order where they leave a choice."""
    done: dict[str, None] = {}
    for root in dependencies:
        stack = [root]
        while stack:
            kernel = stack[-1]
            waiting = [other for other in dependencies[kernel] if other in dependencies and other not in done]
            if waiting and kernel not in done:
                stack.append(waiting[0])
            else:
                stack.pop()
                done.setdefault(kernel)
    return tuple(done)


def ancestors(kernel: str, dependencies: Edges) -> set[str]:
    """Return every kernel that one waits for, over any number of steps."""
    waiting, found = list(dependencies.get(kernel, ())), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(dependencies.get(name, ()))
    return found


def contradictions(order: OrderNode, dependencies: Edges) -> Iterator[tuple[Name, str]]:
    """Yield `(step, dependency)` where the written order doesn't put the dependency before the step.

    `dependencies` need not be transitive: the written order is checked against each edge.
    """
    paths = dict(_paths(order))
    for name in names_in_order(order):
        for other in dependencies.get(name.text, ()):
            if other != name.text and other in paths and not _precedes(paths[other], paths[name.text]):
                yield name, other


Path = tuple[tuple[bool, int], ...]
"""From the root of an order to one id: at each node, whether it is a sequence, and which step was taken."""


def _paths(order: OrderNode) -> Iterator[tuple[str, Path]]:
    stack: list[tuple[OrderNode, Path]] = [(order, ())]
    while stack:
        node, path = stack.pop()
        if isinstance(node, Name):
            yield node.text, path
        else:
            sequential = isinstance(node, Steps)
            stack.extend((step, (*path, (sequential, index))) for index, step in enumerate(node.steps))


def _precedes(first: Path, second: Path) -> bool:
    for (sequential, here), (_, there) in zip(first, second, strict=False):
        if here != there:
            return sequential and here < there
    return False
