"""Graphs of the trees of robots, by `Robot.plot_tree`.

`python docs/images/graphs.py --write` draws these alone.
"""

from __future__ import annotations

import sys
from typing import Any

import linkwork as lw


def quadruped() -> Any:
    """Return the graph of the quadruped."""
    return lw.load("quadruped").plot_tree().figure


ALL = (quadruped,)

if __name__ == "__main__":
    import draw  # sets matplotlib up

    if "--write" in sys.argv[1:]:
        with draw.mpl.rc_context(draw.STYLE):
            for drawn in ALL:
                draw.saved(drawn(), f"tree_{drawn.__name__}")
    else:
        print("--write draws them")
