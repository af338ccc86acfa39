"""The tree that joint-space functions are traced on: steps that remove operations, in their order."""

from __future__ import annotations

from dataclasses import replace

from linkwork.model.body import Frame
from linkwork.model.composite_body import without_inertias
from linkwork.model.parametrized_tree import Numbers, parametrised
from linkwork.model.simplify.align_joint_frames import seated, tilted
from linkwork.model.simplify.regroup_inertia import regrouped
from linkwork.model.simplify.shift_origins import slid
from linkwork.model.tree import Tree
from linkwork.spatial import Pose

__all__ = ["lightened", "lightened_with"]


def lightened(tree: Tree) -> Tree:
    """A tree of the same joint-space dynamics that takes fewer operations.

    Bodies take the frames of their joints, so that these can be turned; joints that are tilted simply have origins that
    slide to where offsets have zeros; and inertias are regrouped where everything sits in its place.
    """
    return regrouped(slid(tilted(seated(tree))))


def lightened_with(tree: Tree, numbers: Numbers) -> Tree:
    """The same of a tree with some numbers, of any scalars, for its own: none of them decides how it is done.

    Inertias are carried to where their bodies' frames go, and stay there; so do those of bodies whose joints are moved.
    The stators' frames of joints with offsets stay where they are, so that offsets are what they were.
    """
    given = parametrised(tree, numbers)
    pairs = list(enumerate(zip(tree.bodies, given.bodies, strict=True)))
    heavy = [i for i, (old, new) in pairs if new.inertia is not old.inertia]
    moved = [i for i, (old, new) in pairs if new.placement is not old.placement or new.rotor is not old.rotor]
    origins = [Frame(f"origin of body {i}", i, Pose.identity()) for i in heavy]
    seen = seated(replace(tree, frames=(*tree.frames, *origins)))
    light = slid(tilted(seen, held=moved), held=moved)
    bodies = list(light.bodies)
    for i, origin in zip(heavy, origins, strict=True):
        X, inertia = light.frame(origin.name).placement, given.bodies[i].inertia
        bodies[i] = replace(bodies[i], inertia=inertia if X.is_identity else X @ inertia)
    frames = without_inertias(light.frames[: len(tree.frames)])
    grouped = regrouped(light.made_of(bodies=tuple(bodies), frames=frames), but={*heavy, *moved})
    return parametrised(grouped, numbers, weighed=False)
