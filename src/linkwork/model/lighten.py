"""The tree that joint-space functions are traced on: each step on the way to it needs what the one before it leaves."""

from __future__ import annotations

from dataclasses import replace

from ..spatial import Pose
from .body import Frame
from .parametrised import Numbers, parametrised
from .regroup import regrouped
from .seat import seated
from .slide import slid
from .tilt import tilted
from .tree import Tree
from .welded import without_inertias

__all__ = ["lightened", "lightened_with"]


def lightened(tree: Tree) -> Tree:
    """A tree of the same joint-space dynamics that takes fewer operations.

    Bodies take the frames of their joints, so that these can be turned; joints that are tilted simply have origins that
    slide to where offsets have zeros; and inertias are regrouped where everything sits in its place.
    """
    return regrouped(_settled(tree))


def lightened_with(tree: Tree, numbers: Numbers) -> Tree:
    """The same of a tree with some numbers, of any scalars, for its own: of those, none decides how it is done.

    Inertias are carried to where their bodies' frames go, and stay there.  Where joints or frames have offsets, nothing
    is moved.
    """
    if any(parameter.kind in ("placement", "frame") for parameter in numbers):
        return parametrised(tree, numbers)
    inertias = {parameter: x for parameter, x in numbers.items() if parameter.kind == "inertia"}
    others = {parameter: x for parameter, x in numbers.items() if parameter.kind != "inertia"}
    if not inertias:
        return parametrised(lightened(tree), others)
    loaded = parametrised(tree, inertias).bodies
    given = [i for i, body in enumerate(loaded) if body.inertia is not tree.bodies[i].inertia]
    origins = [Frame(f"origin of body {i}", i, Pose.identity()) for i in given]
    light = _settled(replace(tree, frames=(*tree.frames, *origins)))
    bodies = list(light.bodies)
    for i, origin in zip(given, origins, strict=True):
        X = light.frame(origin.name).placement
        bodies[i] = replace(bodies[i], inertia=loaded[i].inertia if X.is_identity else X @ loaded[i].inertia)
    frames = without_inertias(light.frames[: len(tree.frames)])
    return parametrised(regrouped(light.made_of(bodies=tuple(bodies), frames=frames), but=given), others)


def _settled(tree: Tree) -> Tree:
    """Every body with the frame in which it has most zeros."""
    return slid(tilted(seated(tree)))
