"""What is meant by names of frames that other libraries have and a robot does not: the word for the same here."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["meant_by"]

_OWN = {"local", "body", "self", "own", "tool", "ee", "end_effector"}
_ALIGNED = {"local_world_aligned", "world_aligned", "aligned", "lwa", "mixed", "hybrid"}
_WORLDS = {"world", "universe", "ground", "global", "inertial", "map", "origin"}
_ROOTS = {"base", "base_link", "root", "root_link", "root_joint", "floating_base", "trunk", "torso", "pelvis"}


def meant_by(name: object, roots: Sequence[str]) -> str:
    """A remedy for a frame that is not there and whose name is a usual word; empty for any other.

    ``roots`` are the links that stand in the world or float in it.
    """
    word = name.lower().replace("-", "_").replace(" ", "_") if isinstance(name, str) else ""
    if word in _OWN:
        return 'a frame\'s own axes go by its name, as in expressed_in="hand": see docs/conventions.md'
    if word in _ALIGNED:
        return (
            'axes of the world at the frame\'s own origin are the default, expressed_in="world" without at=: '
            "see docs/conventions.md"
        )
    if word in _WORLDS:
        return 'the world\'s frame is called "world"'
    if word in _ROOTS and roots:
        return f"the root link is called {' or '.join(map(repr, roots[:3]))}"
    return ""
