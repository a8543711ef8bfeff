"""The garbage collector of Python, kept out of the way while a stage makes one large tree.

Imports no stage.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["paused"]


@contextmanager
def paused() -> Iterator[None]:
    """Look for no cycles meanwhile: a tree that grows holds none, and every search would walk all of it again.

    Such searches are what makes the time for a file of many kernels grow faster than the file.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
