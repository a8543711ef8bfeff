"""Loads generated modules so that their kernels run in the interpreter.

The text runs unchanged but for the marks that `instrument` adds. Imports of `cuda.tile` and of `torch` are served by stand-ins;
only the loaded modules see them. Nothing is put into `sys.modules` and nothing global is patched.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import itertools
import linecache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tilespec.interpret import device
from tilespec.interpret.host import torch_stand_in
from tilespec.interpret.instrument import HELPERS, instrument
from tilespec.interpret.kernel import MARK, Options

__all__ = ["load_module", "load_package"]

_numbers: Final = itertools.count(1)


class _Session:
    """The modules of one load: they import each other and the stand-ins."""

    def __init__(self, root: Path | None, options: Options) -> None:
        self.root = root
        self.options = options
        self.name = f"tilespec_interpreted_{next(_numbers)}"
        self.modules: dict[str, ModuleType] = {}
        self.cuda = ModuleType("cuda")
        self.tile = device.cuda_tile()
        self.cuda.__dict__["tile"] = self.tile
        self.torch: ModuleType = torch_stand_in()

    def package(self) -> str:
        """Return the full name of the package that is being loaded."""
        return f"{self.name}.{self.root.name}" if self.root else self.name

    def load(self, name: str, path: Path, package: str) -> ModuleType:
        """Run one file as module `name`."""
        text = path.read_text(encoding="utf-8")
        tree = instrument(ast.parse(text, filename=str(path)))
        module = ModuleType(name)
        module.__file__ = str(path)
        module.__package__ = package
        if path.name == "__init__.py":
            module.__path__ = [str(path.parent)]
        space = module.__dict__
        space["__builtins__"] = {
            **vars(builtins),
            **device.BUILTINS,
            **HELPERS,
            "__import__": self._import,
        }
        space[MARK] = self.options
        linecache.checkcache(str(path))
        self.modules[name] = module
        try:
            exec(compile(tree, str(path), "exec", dont_inherit=True), space)  # noqa: S102 - running it is the purpose
        except BaseException:
            del self.modules[name]
            raise
        return module

    def find(self, name: str) -> ModuleType:
        """Return the module `name` of the package, loading it and its parents."""
        if name in self.modules:
            return self.modules[name]
        if self.root is None:
            msg = f"No module named {name!r}: a module loaded alone has no package to import from"
            raise ModuleNotFoundError(msg, name=name)
        parent, _, leaf = name.rpartition(".")
        if name != self.package():
            self.find(parent)
        if name in self.modules:
            # A parent that imports its children has loaded it by now.
            return self.modules[name]
        parts = name.removeprefix(self.package()).strip(".")
        place = self.root.joinpath(*parts.split(".")) if parts else self.root
        if place.is_dir():
            start = place / "__init__.py"
            if start.is_file():
                module = self.load(name, start, name)
            else:
                module = ModuleType(name)
                module.__path__ = [str(place)]
                self.modules[name] = module
        elif place.with_suffix(".py").is_file():
            module = self.load(name, place.with_suffix(".py"), parent)
        else:
            msg = f"No module named {name!r} in {self.root}"
            raise ModuleNotFoundError(msg, name=name)
        if parent in self.modules:
            setattr(self.modules[parent], leaf, module)
        return module

    def _import(
        self,
        name: str,
        globals: dict[str, Any] | None = None,  # noqa: A002 - the signature of `__import__`
        locals: dict[str, Any] | None = None,  # noqa: A002, ARG002 - the signature of `__import__`
        fromlist: tuple[str, ...] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if level:
            return self._relative(name, globals or {}, fromlist or (), level)
        top, _, rest = name.partition(".")
        if top == "cuda":
            if rest not in ("", "tile"):
                msg = f"{name} is not supported by the interpreter"
                raise ModuleNotFoundError(msg, name=name)
            return self.tile if rest and fromlist else self.cuda
        if top == "torch":
            real = importlib.import_module(name)
            if not rest or not fromlist:
                return self.torch
            return vars(self.torch)["cuda"] if name == "torch.cuda" else real
        if self.root is not None and top == self.root.name:
            found = self.find(f"{self.name}.{name}")
            self._members(found, fromlist or ())
            return found if fromlist else self.find(self.package())
        return builtins.__import__(name, globals, None, fromlist or (), 0)

    def _relative(
        self, name: str, space: dict[str, Any], fromlist: tuple[str, ...], level: int
    ) -> ModuleType:
        package = str(space.get("__package__") or "")
        for _ in range(level - 1):
            package = package.rpartition(".")[0]
        found = self.find(f"{package}.{name}" if name else package)
        self._members(found, fromlist)
        return found

    def _members(self, module: ModuleType, names: tuple[str, ...]) -> None:
        """Load submodules that a `from` import names."""
        if not hasattr(module, "__path__"):
            return
        for each in names:
            if each != "*" and not hasattr(module, each):
                try:
                    self.find(f"{module.__name__}.{each}")
                except ModuleNotFoundError:
                    continue


def load_module(path: Path | str, *, seed: int = 0, allow_alias: bool = False) -> ModuleType:
    """Load one generated file; `module.launch(cpu_tensors...)` then runs in the interpreter.

    `seed` fixes the order in which blocks run. `allow_alias` accepts kernels that write an array which shares memory
    with another argument.
    """
    place = Path(path).resolve()
    session = _Session(None, Options(seed=seed, allow_alias=allow_alias))
    return session.load(f"{session.name}.{place.stem}", place, session.name)


def load_package(
    directory: Path | str, *, module: str = "composed", seed: int = 0, allow_alias: bool = False
) -> ModuleType:
    """Load a generated package and return one of its modules; `""` means the package itself."""
    session = _Session(Path(directory).resolve(), Options(seed=seed, allow_alias=allow_alias))
    return session.find(f"{session.package()}.{module}" if module else session.package())
