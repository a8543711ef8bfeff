"""Words that many rules use."""

from __future__ import annotations

__all__ = ["listed", "meant"]


def meant(close: str | None) -> str | None:
    """Ask for a name that was probably meant, if there is one."""
    return f"did you mean `{close}`?" if close else None


def listed(names: tuple[str, ...]) -> str:
    """Write names one after the other, and how many more there are."""
    shown = ", ".join(f"`{name}`" for name in names[:8])
    return f"{shown}, and {len(names) - 8} more" if len(names) > 8 else shown
