"""Check of a whole robot: its size and mass, what moves without mass, gravity, and shapes that overlap at zero."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.messages import listed, quoted
from linkwork.compare.joint_matching import neutral_of
from linkwork.compare.plausibility.link_checks import SIGNS, LinkMass, link_findings
from linkwork.compare.plausibility.model_check import CODES, SEVERITIES, ModelCheck, ModelFinding, finding
from linkwork.compare.state_comparison import Functions, poses_of
from linkwork.formats.description import Following, looks_like_degrees
from linkwork.geometry import signed_distance, solid
from linkwork.model import WORLD, Body, Frame, Tree, frames_with_inertias, pair_filter
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
_EQUAL = 0.01  # relative difference of masses and of moments of inertia
_NEAR = 2e-3  # distance of an origin from the mirror image of the other, relative to the robot's size
_APART = 0.01  # distance of an image from the expected one, relative to the robot's size, from which on it is reported
_FITS = 0.1  # the same with a sign changed, relative to that as stated
_MIRRORS = np.array([1.0, -1.0, 1.0]), np.array([-1.0, 1.0, 1.0])
_SIDE = re.compile("left|right", re.IGNORECASE)
_TRAVEL = 100.0  # range of a sliding joint, relative to the size of the robot
_READ_AS_DEGREES = math.radians(2.0 * math.pi)  # range [rad] of a turn in rad that is read as degrees
_STEP, _ROUNDING = 0.5, 1e-7  # [°] step of small limits that people state, and rounding [°, rad]
_SLACK = 1e-9  # by which a value may exceed its limit, relative to 1 or to the limit


def check_of(functions: Functions, tree: Tree) -> ModelCheck:
    """Return the findings of the check of a robot: see `Robot.check_model`."""
    poses = poses_of(functions, tree, neutral_of(tree))
    size = _size(tree, poses)
    findings: list[ModelFinding] = []
    if not tree.inertias_ignored:
        spans: dict[str, float] = {}
        for body in tree.bodies:
            if body.parent != WORLD:
                carrier, reach = tree.bodies[body.parent].name, math.hypot(*body.placement.translation)
                spans[carrier] = max(spans.get(carrier, 0.0), reach)
        frames = frames_with_inertias(tree.bodies, tree.frames)
        findings += link_findings(tree.name, frames, size, spans)
        findings += mirrored_findings(frames, poses, size)
        check = functions["mass_matrix_inverse"].inertia_check
        findings += _masses(tree, size, () if check is None else check.joints(tree, False))
    findings += _joint_findings(tree, size)
    findings += _lengths(tree, size)
    findings += _gravity(tree)
    findings += _overlaps(tree, poses)
    codes = [*CODES]
    findings.sort(key=lambda x: (SEVERITIES.index(x.severity), codes.index(x.code)))  # stable: then by link
    return ModelCheck._make(tree.name, tuple(findings))


def _size(tree: Tree, poses: dict[int, Pose]) -> float:
    """Return the diagonal [m] of the bounding box of all frame origins, with all joints at zero."""
    points = [[*poses[frame.body].point(frame.placement.translation)] for frame in tree.frames]
    if not points:
        return 0.0
    array = np.array(points, dtype=float)
    return float(np.linalg.norm(array.max(axis=0) - array.min(axis=0)))


def _masses(tree: Tree, size: float, singular: Sequence[str]) -> Iterator[ModelFinding]:
    masses = {body.name: float(body.inertia.mass) for body in tree.bodies}
    if not any(masses.values()):
        if masses:
            yield finding("NO_MASS", "robot", tree.name, "no moving link has a mass")
        return
    for i in sorted(map(tree.joint_index, singular)):
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
        other_masses = [x for link, x in positive.items() if link != name]
        typical = float(np.median(other_masses)) if other_masses else math.inf
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

    Left out are meshes, hulls and other shapes not in `_QUICK`, and all pairs after the first `_MOST_PAIRS`.
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
            b, second, Y, _ = placed[j]
            if measured < _MOST_PAIRS and is_checked(a, b) and not _are_apart(tree, a.body, b.body):
                measured += 1
                depth = -float(signed_distance(solid(shape, X), solid(second, Y)).distance)
                if depth > max(_DEPTH, depths.get((a.name, b.name), 0.0)):
                    depths[a.name, b.name] = depth
    if depths:
        pairs = "1 pair of links overlaps" if len(depths) == 1 else f"{len(depths)} pairs of links overlap"
        names = listed([f"{a} and {b}" for a, b in depths][:5])
        text = f"{pairs} with all joints at zero, by up to {max(depths.values()):.3g} m: {names}"
        yield finding("OVERLAP", "robot", tree.name, text, pairs=len(depths), depth=max(depths.values()))


def _are_apart(tree: Tree, a: int, b: int) -> bool:
    """Return True for bodies of different mechanisms of which one floats: at zero they may be at the same place."""
    first = []
    for body in (a, b):
        while body != WORLD and tree.bodies[body].parent != WORLD:
            body = tree.bodies[body].parent
        first.append(body)
    return first[0] != first[1] and any(i != WORLD and tree.bodies[i].joint.is_floating for i in first)


# -- check of the links on the left and the right of a robot: their centres of mass are mirror images of each other


def mirrored_findings(frames: Sequence[Frame], poses: Mapping[int, Pose], size: float) -> Iterator[ModelFinding]:
    """Yield a finding for each pair of links whose centres of mass would be mirror images with one other sign.

    ``poses`` are the poses of the bodies with all joints at zero; ``size`` [m] is the robot's size.
    """
    sides: dict[str, list[Frame]] = {}
    for frame in frames:
        if frame.inertia.mass > 0.0:
            sides.setdefault(_without_side(frame.name), []).append(frame)
    for pair in sides.values():
        if len(pair) == 2 and size > 0.0:
            yield from _of_pair(pair[0], pair[1], poses, size)


def _without_side(name: str) -> str:
    """Return a name without its side, so that "FL_calf" and "FR_calf" give equal results."""
    return re.sub("[LRlr]", "?", _SIDE.sub("?", name))


def _of_pair(left: Frame, right: Frame, poses: Mapping[int, Pose], size: float) -> Iterator[ModelFinding]:
    a, b = LinkMass.of(left), LinkMass.of(right)
    moments = [np.linalg.eigvalsh(x.about) for x in (a, b)]
    if abs(a.mass - b.mass) > _EQUAL * a.mass or np.ptp(moments, axis=0).max() > _EQUAL * moments[0][-1]:
        return
    X, Y = (poses[x.body].matrix() @ x.placement.matrix() for x in (left, right))
    if np.linalg.norm(a.center - b.center) < _NEAR * size:
        return
    for mirror in _MIRRORS:
        origin = mirror * X[:3, 3]
        if np.linalg.norm(origin - Y[:3, 3]) > _NEAR * size or np.linalg.norm(origin - X[:3, 3]) < 2.0 * _APART * size:
            continue
        image = mirror * (X[:3, :3] @ a.center)
        error = float(np.linalg.norm(image - Y[:3, :3] @ b.center))
        if error < _APART * size:
            return
        for axes, signs in SIGNS.items():
            if np.linalg.norm(image - Y[:3, :3] @ (signs * b.center)) < _FITS * error:
                text = (
                    f"the centre of mass is {error:.3g} m from the mirror image of that of link {left.name!r}, but "
                    f"there with −{axes}: one of both has a wrong sign"
                )
                yield finding("COM_MIRRORED", "link", right.name, text, distance=error)
                return


def _joint_findings(tree: Tree, size: float) -> Iterator[ModelFinding]:
    """Yield the findings of all joints and named configurations; ``size`` [m] is the robot's size."""
    many = _most_ranges_are_small(tree)
    for body in tree.bodies:
        yield from _limits(body, size, many)
        yield from _efforts(body)
        relation = body.coupling or body.mimic
        if relation is not None:
            yield from _followed(tree, body, relation)
    for state in tree.named_configurations:
        for joint, values in state.q:
            body = tree.bodies[tree.joint_index(joint)]
            if [*values] == [*body.joint.zero()]:
                continue  # ZERO_OUTSIDE says it
            for value, low, high in body.limits.outside(values, _SLACK):
                text = f"joint {quoted(joint)} is at {value:.6g}, but its limits are {low:.6g} and {high:.6g}"
                yield finding("Q_OUT_OF_LIMITS", "configuration", state.name, text, value=value, lower=low, upper=high)


def _most_ranges_are_small(tree: Tree) -> bool:
    """Return True if most limited angles of several have a range that is below a turn when read as degrees."""
    ranges = [
        high - low
        for body in tree.bodies
        for unit, low, high in zip(body.joint.q_units, *body.limits.positions, strict=True)
        if unit == "rad" and 0.0 < high - low < math.inf
    ]
    return len(ranges) > 1 and 2 * sum(x <= _READ_AS_DEGREES for x in ranges) > len(ranges)


def _is_stated(limit: float) -> bool:
    """Return True for a limit [rad] that has few digits in rad or in degrees, as in hand-written files."""
    return any(abs(x - step * round(x / step)) < _ROUNDING for x, step in ((limit, 1e-3), (math.degrees(limit), _STEP)))


def _limits(body: Body, size: float, many: bool) -> Iterator[ModelFinding]:
    name, (lower, upper) = body.joint_name, body.limits.positions
    for unit, low, high in zip(body.joint.q_units, lower, upper, strict=True):
        values: dict[str, Any] = {"lower": low, "upper": high}
        if low == high:
            text = f"the lower and the upper limit are both {low:.6g} {unit}: the joint cannot move"
            yield finding("LIMIT_EQUAL", "joint", name, text, **values)
        elif unit == "rad" and looks_like_degrees(low, high):
            text = f"the limits {low:g} and {high:g} rad are more than two turns: are they in degrees?"
            yield finding("LIMIT_UNITS", "joint", name, text, **values)
        elif unit == "rad" and 0.0 < high - low <= _READ_AS_DEGREES:
            degrees = math.degrees(low), math.degrees(high)
            text = (
                f"the limits {low:.4g} and {high:.4g} rad are only {degrees[1] - degrees[0]:.3g}° apart: were "
                f"{degrees[0]:.4g} and {degrees[1]:.4g} rad read as degrees?"
            )
            is_likely = many or not (_is_stated(low) and _is_stated(high))
            yield finding("LIMIT_UNITS", "joint", name, text, severity=None if is_likely else "note", **values)
        elif unit == "m" and _TRAVEL * max(size, 1.0) < high - low < math.inf:
            text = f"the limits {low:g} and {high:g} m are far apart for a robot of {size:.3g} m: millimetres?"
            yield finding("LIMIT_UNITS", "joint", name, text, **values)
    if body.coupling is None:
        for value, low, high in body.limits.outside(body.joint.zero(), _SLACK):
            text = f"zero is outside of the limits {low:.6g} and {high:.6g}"
            yield finding("ZERO_OUTSIDE", "joint", name, text, value=value, lower=low, upper=high)


def _efforts(body: Body) -> Iterator[ModelFinding]:
    name, limits = body.joint_name, body.limits
    if limits.effort and not any(limits.effort):
        yield finding("EFFORT_ZERO", "joint", name, "the effort limit is 0")
    if limits.velocity and not any(limits.velocity):
        yield finding("VELOCITY_ZERO", "joint", name, "the speed limit is 0")
    if body.dynamics == "none":
        return
    resting = body.drive.static_friction or body.friction
    for friction, effort in zip(resting, limits.effort, strict=True):
        if friction > effort > 0.0:
            text = f"friction of {friction:.4g} is larger than the effort limit of {effort:.4g}"
            yield finding("FRICTION_LARGE", "joint", name, text, friction=friction, effort=effort)


def _followed(tree: Tree, body: Body, relation: Following) -> Iterator[ModelFinding]:
    """Yield the finding on a follower that its master can move beyond the follower's limits."""
    master = tree.bodies[tree.joint_index(relation.joint)]
    for k, (low, high) in enumerate(zip(*master.limits.positions, strict=True)):
        if not (math.isfinite(low) and math.isfinite(high)) or k >= body.joint.nq:
            continue
        ends = sorted(relation.ratio * x + relation.offset for x in (low, high))
        lower, upper = (side[k] for side in body.limits.positions)
        slack = _SLACK + 1e-3 * (ends[1] - ends[0])
        if ends[0] < lower - slack or ends[1] > upper + slack:
            text = (
                f"it follows {quoted(relation.joint)} from {ends[0]:.6g} to {ends[1]:.6g}, but its limits are "
                f"{lower:.6g} and {upper:.6g}"
            )
            yield finding("MIMIC_RANGE", "joint", body.joint_name, text, lower=lower, upper=upper)
