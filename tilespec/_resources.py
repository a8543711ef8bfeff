"""Where the grammar, the templates and the tuning database lie.

`grammar/` and `codegen/` hold no Python and stand at the top of the checkout; the wheel carries them as
`tilespec/_grammar` and `tilespec/_codegen`.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

__all__ = ["resource"]


def resource(folder: Literal["grammar", "codegen"]) -> Traversable:
    """Locate `grammar` or `codegen` in the installed wheel, else in the checkout."""
    packaged = files("tilespec") / f"_{folder}"
    if packaged.is_dir():
        return packaged
    return Path(__file__).resolve().parent.parent / folder
