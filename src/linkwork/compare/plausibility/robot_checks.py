"""Check of a whole robot: its size and mass, what moves without mass, gravity, and shapes that overlap at zero."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from linkwork._util.messages import listed
from linkwork.compare.plausibility.joint_checks import joint_findings
from linkwork.compare.plausibility.link_checks import link_findings
from linkwork.compare.plausibility.mirrored_links import mirrored_findings
from linkwork.compare.plausibility.model_check import CODES, SEVERITIES, ModelCheck, ModelFinding, finding
from linkwork.dynamics.singular_inertia import singular_joints
from linkwork.geometry.pairs import signed_distance
from linkwork.geometry.solids import solid
from linkwork.kinematics.algorithms.forward_kinematics import forward_kinematics
from linkwork.kinematics.algorithms.relative_kinematics import ancestors
from linkwork.model import WORLD, Tree
from linkwork.model.collision_pairs import pair_filter
from linkwork.model.composite_body import frames_with_inertias
from linkwork.shapes import Box, Capsule, Cylinder, Sphere
from linkwork.spatial import Pose

__all__ = ["check_of"]

_LARGEST_SIZE = 100.0  # size of a robot [m]
_LARGEST_DENSITY = 5000.0  # mass of a robot over the cube of its size [kg/m³]
_HEAVY, _DENSE = 30.0, 200.0  # mass of a link over that of the others (median) and over the cube of the size [kg/m³]
_SMALLEST_SIZE = 0.05  # size of a robot [m] below which its mass is not compared with it
_SPREAD = 1e6  # ratio of the largest to the smallest mass
_GRAVITY = 1.5, 30.0  # [m/s²]
_TILT = 1e-3  # horizontal part of gravity, relative to all of it
_OFFSET = 10.0  # [m] of a joint or frame, from which on it is compared with others
_OFFSETS = 20.0  # times the median offset
_MOST_PAIRS = 500  # pairs of shapes whose distance is computed
_QUICK = (Box, Capsule, Cylinder, Sphere)  # shapes whose distances take less than some milliseconds without compilation
_DEPTH = 1e-3  # [m] by which shapes overlap


def check_of(tree: Tree) -> ModelCheck:
    """Return the findings of the check of a robot: see `Robot.check_model`."""
    poses = _poses(tree)
    size = _size(tree, poses)
    found: list[ModelFinding] = []
    if not tree.inertias_ignored:
        spans: dict[str, float] = {}
        for body in tree.bodies:
            if body.parent != WORLD:
                carrier, reach = tree.bodies[body.parent].name, math.hypot(*body.placement.translation)
                spans[carrier] = max(spans.get(carrier, 0.0), reach)
        frames = frames_with_inertias(tree.bodies, tree.frames)
        found += link_findings(tree.name, frames, size, spans)
        found += mirrored_findings(frames, poses, size)
        found += _masses(tree, size)
    found += joint_findings(tree, size)
    found += _lengths(tree, size)
    found += _gravity(tree)
    found += _overlaps(tree, poses)
    codes = [*CODES]
    found.sort(key=lambda one: (SEVERITIES.index(one.severity), codes.index(one.code)))  # stable: then by link
    return ModelCheck._make(tree.name, tuple(found))


def _poses(tree: Tree) -> dict[int, Pose]:
    """Return the pose of every body in the world, with all joints at zero, by body; that of the world too."""
    q = [0.0] * tree.nq
    for i, body in tree.stacked():
        q[tree.q_slices[i]] = body.call_joint("zero")
    return {WORLD: Pose.identity(), **dict(enumerate(forward_kinematics(tree, q)))}


def _size(tree: Tree, poses: dict[int, Pose]) -> float:
    """Return the diagonal [m] of the box of all frames' origins, with all joints at zero."""
    points = [[*poses[frame.body].point(frame.placement.translation)] for frame in tree.frames]
    if not points:
        return 0.0
    array = np.array(points, dtype=float)
    return float(np.linalg.norm(array.max(axis=0) - array.min(axis=0)))


def _masses(tree: Tree, size: float) -> Iterator[ModelFinding]:
    masses = {body.name: float(body.inertia.mass) for body in tree.bodies}
    if not any(masses.values()):
        if masses:
            yield finding("NO_MASS", "robot", tree.name, "no moving link has a mass")
        return
    for i in sorted(map(tree.joint_index, singular_joints(tree, False))):
        body, joint = tree.bodies[i], tree.bodies[i].joint_name
        if all(body.armature) and body.armature:
            text = "it moves no inertia besides its armature"
            remedy = "pass passive=True to functions of dynamics, which then include the armature"
            yield finding("MASSLESS_MOVING", "joint", joint, text, severity="note", remedy=remedy)
        else:
            yield finding("MASSLESS_MOVING", "joint", joint, "it moves no inertia, alone or together with other joints")
    positive = {name: mass for name, mass in masses.items() if mass > 0.0}
    least, most = min(positive, key=positive.__getitem__), max(positive, key=positive.__getitem__)
    if positive[most] > _SPREAD * positive[least]:
        text = f"it has {positive[least]:.3g} kg, but link {most!r} has {positive[most]:.3g} kg"
        yield finding("MASS_SPREAD", "link", least, text, least=positive[least], most=positive[most])
    for name, mass in positive.items():
        others = [x for other, x in positive.items() if other != name]
        typical = float(np.median(others)) if others else math.inf
        if mass > _HEAVY * typical and mass > _DENSE * size**3 and size > _SMALLEST_SIZE:
            text = f"it has {mass:.4g} kg, but half of the other links at most {typical:.3g} kg: a mass in g?"
            yield finding("MASS_UNITS", "link", name, text, mass=mass, typical=typical)
    mass = sum(masses.values())
    if size > _SMALLEST_SIZE and mass > _LARGEST_DENSITY * size**3:
        text = f"{mass:.4g} kg in a robot of {size:.3g} m: masses in g?"
        yield finding("MASS_UNITS", "robot", tree.name, text, mass=mass, size=size)


def _lengths(tree: Tree, size: float) -> Iterator[ModelFinding]:
    if size > _LARGEST_SIZE:
        yield finding("LENGTH_UNITS", "robot", tree.name, f"it is {size:.4g} m in size: lengths in mm?", size=size)
        return
    offsets = {("joint", body.joint_name): math.hypot(*body.placement.translation) for body in tree.bodies}
    offsets |= {("link", frame.name): math.hypot(*frame.placement.translation) for frame in tree.frames}
    known = [x for x in offsets.values() if x > 0.0]
    median = float(np.median(known)) if known else 0.0
    for (kind, name), offset in offsets.items():
        if offset > _OFFSET and offset > _OFFSETS * median:
            text = f"it is {offset:.4g} m from the origin before it, but half of all others within {median:.3g} m"
            yield finding("FRAME_FAR", kind, name, text, distance=offset, median=median)


def _gravity(tree: Tree) -> Iterator[ModelFinding]:
    g = [float(x) for x in tree.gravity]
    size = math.hypot(*g)
    values: dict[str, Any] = dict(zip("xyz", g, strict=True))
    if size > 0.0 and not _GRAVITY[0] <= size <= _GRAVITY[1]:
        yield finding("GRAVITY", "robot", tree.name, f"gravity is {size:.4g} m/s²", **values)
    elif math.hypot(g[0], g[1]) > _TILT * size or g[2] > 0.0:
        text = f"gravity ({g[0]:.4g}, {g[1]:.4g}, {g[2]:.4g}) m/s² is not along −z"
        yield finding("GRAVITY_DIRECTION", "robot", tree.name, text, **values)


def _overlaps(tree: Tree, poses: dict[int, Pose]) -> Iterator[ModelFinding]:
    """Yield the finding on pairs of links that are checked for collisions and overlap with all joints at zero.

    Shapes other than `_QUICK` are left out, such as meshes and their hulls, and pairs beyond the first `_MOST_PAIRS`.
    """
    placed = [
        (frame, geometry.shape, poses[frame.body] @ frame.placement @ geometry.origin, ball)
        for frame in tree.frames
        for geometry in frame.collisions
        if isinstance(geometry.shape, _QUICK) and (ball := geometry.shape.bounding_sphere) is not None
    ]
    if not placed:
        return
    centers = np.array([[*X.point(ball[0])] for _, _, X, ball in placed], dtype=float)
    radii = np.array([ball[1] for *_, ball in placed], dtype=float)
    is_checked, measured = pair_filter(tree), 0
    depths: dict[tuple[str, str], float] = {}
    for k, (a, shape, X, _) in enumerate(placed):
        gaps = np.linalg.norm(centers[k + 1 :] - centers[k], axis=1) - radii[k + 1 :] - radii[k]
        for j in (np.flatnonzero(gaps < -_DEPTH) + k + 1).tolist():
            b, other, Y, _ = placed[j]
            if measured < _MOST_PAIRS and is_checked(a, b) and not _are_apart(tree, a.body, b.body):
                measured += 1
                depth = -float(signed_distance(solid(shape, X), solid(other, Y)).distance)
                if depth > max(_DEPTH, depths.get((a.name, b.name), 0.0)):
                    depths[a.name, b.name] = depth
    if depths:
        pairs = "1 pair of links overlaps" if len(depths) == 1 else f"{len(depths)} pairs of links overlap"
        names = listed([f"{a} and {b}" for a, b in depths][:5])
        text = f"{pairs} with all joints at zero, by up to {max(depths.values()):.3g} m: {names}"
        yield finding("OVERLAP", "robot", tree.name, text, pairs=len(depths), depth=max(depths.values()))


def _are_apart(tree: Tree, one: int, other: int) -> bool:
    """Return True for bodies of different mechanisms, one of which floats: at zero they are at one place."""
    roots = [ancestors(tree, body) for body in (one, other)]
    first = [chain[0] if chain else WORLD for chain in roots]
    return first[0] != first[1] and any(i != WORLD and tree.bodies[i].joint.is_floating for i in first)
