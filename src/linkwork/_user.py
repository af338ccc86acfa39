"""Where in the user's code a warning is of use."""

from __future__ import annotations

import sys

__all__ = ["levels_up"]


def levels_up() -> int:
    """How far up the stack from the caller the line is that is not linkwork's own: a warning's ``stacklevel``."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "linkwork":
        frame, level = frame.f_back, level + 1
    return level
