"""Comparison of two robots: inertias by link or by body, joints, shapes, poses, mass matrix and gravity force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from linkwork.compare.joint_matching import Names, Pairing, neutral_of, paired
from linkwork.compare.part_comparison import compare_joint, compare_parts, compare_shapes
from linkwork.compare.robot_comparison import Comparer, RobotComparison
from linkwork.compare.state_comparison import (
    Dynamics,
    Functions,
    Matrices,
    compare_dynamics,
    compare_poses,
    dynamics_of,
    poses_of,
    size_of,
)
from linkwork.formats.description import mass_properties
from linkwork.model import Frame, Tree, frames_with_inertias
from linkwork.spatial import Inertia

__all__ = ["GROUPS", "compare_trees"]

GROUPS: Mapping[str, str] = {
    "names": "what only one robot has",
    "inertias": "masses, centres of mass and rotational inertias of links or bodies, and the total mass",
    "poses": "poses of links and frames, at zero and at random configurations",
    "joints": "types and axes of joints, and relations between them",
    "limits": "limits of positions, speeds and efforts",
    "drives": "damping, friction, armature, gear ratios and springs of joints",
    "constraints": "constraints and force elements",
    "actuators": "actuators and named configurations",
    "collisions": "collision shapes",
    "visuals": "visual shapes",
    "dynamics": "gravity, mass matrix and gravity force at random configurations",
}
"""Groups of quantities with what is in them."""

_MOST_VELOCITIES = 2000  # up to which the dynamics are compared: the maps between velocities are full matrices
_ROUNDING = 16.0 * float(np.finfo(float).eps)  # of moments about another point, relative to m c²


def compare_trees(
    left: Tree,
    right: Tree,
    names: Names,
    *,
    functions: Functions,
    by: str,
    ignore: tuple[str, ...],
    tolerance: float,
    samples: int,
    seed: int | np.random.Generator,
    labels: tuple[str, str],
) -> RobotComparison:
    """Return the comparison of two robots: see `Robot.compare`."""
    to = Comparer(tolerance, ignore)
    pairing = paired(functions, left, right, names)
    frames = _Frames(left, right, names)
    _unmatched(to, pairing, frames, by, names)
    neutral = pairing.configurations(np.array(neutral_of(left)))
    poses = [poses_of(functions, tree, q) for tree, q in zip((left, right), neutral, strict=True)]
    size = max(map(size_of, poses))
    if left.inertias_ignored or right.inertias_ignored:
        to.notes.append("inertias and dynamics are not compared: a robot was loaded without inertias")
    else:
        to.values("inertias", "total mass [kg]", "robot", left.mass, right.mass)
        _inertias(to, pairing, frames, by, size)
    for pair in pairing.pairs:
        compare_joint(to, pairing, pair, poses, names)
    for name, right_name in frames.shared:
        compare_shapes(to, name, frames.left[name], frames.right[right_name])
    compare_parts(to, left, right, names)
    compare_poses(to, [_frame_poses(pairing, frames, *neutral)], size, " at zero")
    to.values("dynamics", "gravity [m/s²]", "robot", [*left.gravity], [*right.gravity])
    _random(to, pairing, frames, size, samples, seed)
    return to.result(*labels, samples)


# -- what is in both


class _Frames:
    """The links and frames of two robots by name; those called "world" without inertia and shapes are left out."""

    def __init__(self, left: Tree, right: Tree, names: Names) -> None:
        self.left, self.right = ({frame.name: frame for frame in _stated(tree)} for tree in (left, right))
        self.shared = [(name, names.right(name)) for name in self.left if names.right(name) in self.right]
        known = {name for _, name in self.shared}
        self.left_only = [name for name in self.left if names.right(name) not in self.right]
        self.right_only = [name for name in self.right if name not in known]


def _stated(tree: Tree) -> Sequence[Frame]:
    frames = frames_with_inertias(tree.bodies, tree.frames)
    return [f for f in frames if f.name != "world" or not f.inertia.is_zero or f.visuals or f.collisions]


def _unmatched(to: Comparer, pairing: Pairing, frames: _Frames, by: str, names: Names) -> None:
    """Record links, frames and joints that only one robot has, and note joints of other names and directions."""
    if by == "links":
        for on_left, only in ((True, frames.left_only), (False, frames.right_only)):
            all_frames = frames.left if on_left else frames.right
            for name in only:
                to.only("names", "link" if all_frames[name].is_link else "frame", name, left=on_left)
    for tree, only_joints, on_left in (
        (pairing.left, pairing.left_only, True),
        (pairing.right, pairing.right_only, False),
    ):
        for i in only_joints:
            to.only("names", "joint", tree.bodies[i].joint_name, left=on_left)
    for pair in pairing.pairs:
        left, right = pairing.left.bodies[pair.left], pairing.right.bodies[pair.right]
        if pair.by_link and names.right(left.joint_name) != right.joint_name:
            to.notes.append(
                f"joint {left.joint_name!r} is matched with {right.joint_name!r}: both carry link {left.name!r}"
            )
        if pair.direction < 0:
            to.notes.append(
                f"joint {left.joint_name!r} has the opposite axis: its position, speed and force are compared with the "
                f"opposite sign"
            )


# -- inertias


def _inertias(to: Comparer, pairing: Pairing, frames: _Frames, by: str, size: float) -> None:
    if by == "links":
        for name, right_name in frames.shared:
            _inertia(to, "", name, frames.left[name].inertia, frames.right[right_name].inertia, size)
        return
    bodies = {pair.left: pair.right for pair in pairing.pairs}
    right_of = dict(frames.shared)
    for i, j in bodies.items():
        left, right = pairing.left.bodies[i], pairing.right.bodies[j]
        link = frames.right.get(right_of.get(left.name, ""))
        inertia = right.inertia
        if link is not None and link.body == j:
            inertia = link.placement.inv() @ inertia  # in the axes of the link of this name
        _inertia(to, " of body", left.name, left.inertia, inertia, size)
    _inertia(to, " of body", "world", pairing.left.fixed_inertia, pairing.right.fixed_inertia, size)


def _inertia(to: Comparer, of_body: str, name: str, left: Inertia, right: Inertia, size: float) -> None:
    (mass, center, J), (other_mass, other_center, other_J) = mass_properties(left), mass_properties(right)
    to.values("inertias", f"mass{of_body} [kg]", name, mass, other_mass)
    if mass > 0.0 and other_mass > 0.0:
        to.values("inertias", f"center of mass{of_body} [m]", name, [*center], [*other_center], size)
    if any(J.elements()) or any(other_J.elements()):
        far = max(m * (c.x * c.x + c.y * c.y + c.z * c.z) for m, c in ((mass, center), (other_mass, other_center)))
        scale = _ROUNDING * far / to.tolerance if to.tolerance > 0.0 else 0.0
        to.values("inertias", f"inertia{of_body} [kg m²]", name, J.elements(), other_J.elements(), scale)


# -- random configurations


def _random(
    to: Comparer, pairing: Pairing, frames: _Frames, size: float, samples: int, seed: int | np.random.Generator
) -> None:
    """Compare poses, and unless inertias were left out mass matrix and gravity force, at random configurations."""
    left, right = pairing.left, pairing.right
    rng = np.random.default_rng(seed)
    has_masses = not (left.inertias_ignored or right.inertias_ignored)
    if has_masses and max(left.nv, right.nv) > _MOST_VELOCITIES:
        has_masses = False
        to.notes.append(f"mass matrices and gravity forces of more than {_MOST_VELOCITIES} velocities are not compared")
    poses: list[tuple[Matrices, Matrices]] = []
    states: list[tuple[Dynamics, Dynamics]] = []
    velocities: list[str] = []
    for _ in range(samples):
        q, q_right = pairing.random_configurations(rng)
        poses.append(_frame_poses(pairing, frames, q, q_right))
        if has_masses:
            G, T, velocities = pairing.velocity_maps(q, q_right)
            a = rng.normal(size=(G.shape[1],))
            states.append(
                (dynamics_of(pairing.functions, left, q, G, a), dynamics_of(pairing.functions, right, q_right, T, a))
            )
    compare_poses(to, poses, size, "")
    compare_dynamics(to, velocities, states)


def _frame_poses(pairing: Pairing, frames: _Frames, q: list[float], q_right: list[float]) -> tuple[Matrices, Matrices]:
    """Return the poses of all shared links and frames in the world, in both robots, by the left name."""
    functions = pairing.functions
    placed = poses_of(functions, pairing.left, q), poses_of(functions, pairing.right, q_right)
    left = {a: (placed[0][frames.left[a].body] @ frames.left[a].placement).matrix() for a, _ in frames.shared}
    right = {a: (placed[1][frames.right[b].body] @ frames.right[b].placement).matrix() for a, b in frames.shared}
    return left, right
