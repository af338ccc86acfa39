"""What is meant by names that a robot does not have: words of other libraries, a joint's for a link's, places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["another_kind", "meant_by"]

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


def another_kind(kind: str, name: object, joints: Mapping[str, str]) -> str:
    """A remedy for what is no name of its kind ("frame", "link" or "joint") but another thing of the robot's.

    ``joints`` are the links by the joint that carries each.  Empty where there is nothing to say.
    """
    own = getattr(name, "name", None)
    if isinstance(own, str):
        return another_kind(kind, own, joints) or f"{kind}s go by their names: {own!r}"
    if isinstance(name, int):
        return "" if kind == "frame" else f"it is robot.{kind}s[{name}], by its place in the list"
    if not isinstance(name, str):
        return f"expected a {kind}'s name, a text"
    if kind == "joint":
        carrying = [joint for joint, link in joints.items() if link == name]
        return f"it is a link, carried by joint {carrying[0]!r}" if carrying else ""
    return f"it is a joint, which carries link {joints[name]!r}" if name in joints else ""
