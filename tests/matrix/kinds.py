"""The kinds of robots that every verb is tried on, each with a regular state that its constraints allow."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import linkwork as lw
from constraints.test_constraint_contract import TRIED
from helpers.linkages import five_bar, linkage
from helpers.overconstrained import bennett
from invariants.changes import turned
from linkwork.joints import ALL, Prismatic, Revolute
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.random_tree import random_pose, random_tree
from mechanisms.mechanisms import Mechanism, closed, mechanisms, regular
from oracles.trees import TREES, regularity

__all__ = ["FAMILIES", "KINDS", "Kind", "family_of", "kind_of", "opened"]


@dataclass(frozen=True, eq=False)
class Kind:
    """A robot and a state in general position that its constraints allow."""

    name: str
    family: str
    robot: lw.Robot
    near: np.ndarray | None = None

    @cached_property
    def q(self) -> np.ndarray:
        """The first configuration near the given one, or near neutral, whose coordinates are regular."""
        lower, upper = (np.asarray(x, dtype=float) for x in (self.robot.lower, self.robot.upper))
        margin = np.where(np.isfinite(upper - lower), 0.1 * np.minimum(upper - lower, 1.0), 0.0)
        start = self.near if self.near is not None else np.asarray(self.robot.neutral(), dtype=float)
        for seed in range(50):
            size = 0.0 if self.near is not None and seed == 0 else 0.3
            q = self.robot.integrate(start, size * np.random.default_rng(seed).normal(size=self.robot.nv))
            q = self.assembled(np.clip(q, lower + margin, upper - margin))
            if (
                q is not None
                and regularity(self.robot.tree, q) > 0.1
                and np.all((lower + 0.5 * margin <= q) & (q <= upper - 0.5 * margin))
            ):
                return q
        raise ValueError(f"{self.name}: no regular configuration was found")

    @cached_property
    def size(self) -> float:
        """The robot's length [m]."""
        return characteristic_length(self.robot.tree)

    @cached_property
    def v(self) -> np.ndarray:
        """A velocity of order 0.1 that the constraints allow."""
        return self.allowed(0.1 * np.random.default_rng(1).normal(size=self.robot.nv), self.q)

    @cached_property
    def direction(self) -> np.ndarray:
        """A motion of order 1 along the constraints, without what they prescribe in time."""
        drawn = np.random.default_rng(6).normal(size=self.robot.nv)
        if not self.robot.constraints:
            return drawn
        G = np.asarray(self.robot.constraint_jacobian(self.q, **self.timed)).reshape(-1, self.robot.nv)
        return np.asarray(drawn - np.linalg.pinv(G, rcond=1e-9) @ (G @ drawn))

    @cached_property
    def timed(self) -> dict[str, float]:
        """The argument ``time`` where constraints want one."""
        return {"time": 0.0} if any(constraint.time_dependent for constraint in self.robot.constraints) else {}

    @cached_property
    def dof(self) -> int:
        """The number of velocities that the constraints leave free."""
        if not self.robot.constraints:
            return int(self.robot.nv)
        G = np.asarray(self.robot.constraint_jacobian(self.q, **self.timed)).reshape(-1, self.robot.nv)
        return int(self.robot.nv - np.linalg.matrix_rank(G, tol=1e-9 * max(1.0, np.abs(G).max(initial=0.0))))

    @cached_property
    def frame(self) -> str:
        """The last link's frame."""
        return str(self.robot.bodies[-1]) if self.robot.bodies else str(self.robot.links[-1].name)

    @cached_property
    def box(self) -> dict[str, tuple[float, float]] | None:
        """Limits about q of the lengths that have none."""
        robot = self.robot
        rows = zip(robot.q_names, robot.lower, robot.upper, self.units, self.q, strict=True)
        results = {
            n: (x - 1.0, x + 1.0) for n, low, high, unit, x in rows if unit == "m" and not np.isfinite(high - low)
        }
        return results or None

    @cached_property
    def units(self) -> list[str]:
        """The units of the coordinates."""
        return [unit for _, body in self.robot.tree.stacked() for unit in body.joint.q_units]

    @cached_property
    def shaped(self) -> lw.Robot:
        """The robot with a small sphere on each link."""
        robot = self.robot
        for link in robot.links:
            if link.name != "world" and not link.collisions:
                robot = robot.with_collisions(link.name, lw.shapes.Sphere(0.02))
        return robot

    def assembled(self, q: np.ndarray) -> np.ndarray | None:
        if not any(constraint.holonomic for constraint in self.robot.constraints):
            return q
        result = self.robot.assemble(q, check=False)
        return np.asarray(result.q) if result.success else None

    @cached_property
    def rest(self) -> np.ndarray:
        """The least velocity that the constraints allow: zero, unless they prescribe a motion."""
        return self.allowed(np.zeros(self.robot.nv), self.q)

    @cached_property
    def is_actuated(self) -> bool:
        """True if every velocity that the constraints leave free has a motor by default."""
        free = any(body.joint.nv == 6 for _, body in self.robot.tree.stacked())
        return not free and all(constraint.holonomic for constraint in self.robot.constraints)

    def allowed(self, v: np.ndarray, q: np.ndarray) -> np.ndarray:
        return np.asarray(self.robot.project(q, v)[1]) if self.robot.constraints else v

    def moved(self, size: float = 0.1, seed: int = 2) -> np.ndarray:
        """A configuration that lies near q, on the same branch."""
        drawn = np.random.default_rng(seed).normal(size=self.robot.nv)
        q = self.q
        for _ in range(4):
            step = self.allowed(drawn, q)
            q = self.assembled(self.robot.integrate(q, 0.25 * size * step / max(1.0, np.abs(step).max(initial=0.0))))
            if q is None:
                return self.q
        return np.asarray(np.clip(q, self.robot.lower, self.robot.upper))


def _links(count: int) -> list[lw.Link]:
    return [
        lw.Link(f"l{k}", mass=1.0 + 0.3 * k, com=(0.11, -0.07, 0.05 + 0.02 * k), inertia=np.diag([0.31, 0.23, 0.27]))
        for k in range(count)
    ]


def _chain(*types: Any, **options: Any) -> lw.Robot:
    """A chain of joints at general placements; a dictionary after a type has its joint's options."""
    rng = np.random.default_rng(3)
    joints = []
    pairs = [(t, o) for t, o in zip(types, (*types[1:], None), strict=True) if not isinstance(t, dict)]
    for k, (joint, more) in enumerate(pairs):
        parent = f"l{k - 1}" if k else "world"
        joint_options = {
            "placement": random_pose(rng),
            "rotor": random_pose(rng),
            **(more if isinstance(more, dict) else {}),
        }
        joints.append(lw.Joint.of(joint, name=f"j{k}", parent=parent, child=f"l{k}", **joint_options))
    return lw.Robot.build("chain", *_links(len(pairs)), *joints, **options)


def _turn() -> Revolute:
    return Revolute((0.36, 0.48, 0.8))


def _slide() -> Prismatic:
    return Prismatic((0.8, 0.36, 0.48))


_RESISTING = {"damping": 0.3, "friction": 0.2, "stiffness": 1.5, "rest": 0.1, "armature": 0.05}


def _on_joint_type(kind: Any) -> lw.Robot:
    return _chain(_turn(), kind.example(np.random.default_rng(5)))


def _with_loop_of(kind: Any) -> Mechanism:
    """Return a body on six actuated velocities that a joint of this type holds, with a closed configuration."""
    tree = _chain(lw.joints.Translational(), lw.joints.Spherical()).tree
    q = regular(tree, 4)
    return Mechanism(closed(tree, q, "loop", kind.example(np.random.default_rng(5)), "world", "l1", 6), q)


def _special() -> Iterator[tuple[str, Callable[[], Any]]]:
    yield (
        "no joints",
        lambda: lw.Robot.build(
            "post", *_links(1), lw.Joint.of(lw.joints.Fixed(), name="j0", parent="world", child="l0")
        ),
    )
    yield "fixed joint inside", lambda: _chain(_turn(), lw.joints.Fixed(), _turn())
    yield "massless link", lambda: _with_massless_link()
    yield "followers", lambda: _chain(_turn(), _slide(), _turn()).with_couplings({"j2": ("j0", -1.7, 0.2)})
    yield "follower chain", lambda: lw.Robot(TREES["coupled_chain"])
    yield "springs, damping, friction", lambda: _chain(_turn(), _RESISTING, _slide(), _RESISTING)
    yield "resisting ball", lambda: _chain(lw.joints.Spherical(), {"damping": 0.3, "armature": 0.05})
    yield "motors on some joints", lambda: _with_one_motor(_chain(_turn(), _slide(), _turn()))
    yield (
        "limits",
        lambda: _chain(
            _turn(),
            {"lower": -1.0, "upper": 1.2, "velocity": 2.0, "effort": 60.0},
            _slide(),
            {"lower": -0.5, "upper": 0.6, "velocity": 1.0, "effort": 80.0},
        ),
    )
    yield (
        "attached object",
        lambda: _chain(_turn(), _slide()).with_attached(
            "box", "l1", lw.shapes.Box((0.1, 0.2, 0.3)), lw.pose((0.1, 0.2, 0.3))
        ),
    )
    yield "payload", lambda: _chain(_turn(), _slide()).with_payload("load", "l1", 2.0, com=(0.1, 0.2, 0.3))
    yield "floating base", lambda: _chain(lw.joints.Floating(), _turn())
    yield "planar base", lambda: _chain(lw.joints.Planar(), _turn())
    yield "tree of all types", lambda: lw.Robot(random_tree(np.random.default_rng(11), 6))
    yield "re-rooted", lambda: lw.Robot(TREES["rerooted"])
    yield (
        "driven joint",
        lambda: _chain(_turn(), _slide()).with_constraints(
            lw.constraints.Prescribed("j0", lambda t: 0.2 + 0.3 * lw.expr.sin(t))
        ),
    )
    yield "four-bar", lambda: linkage()
    yield "four-bar, turned", lambda: _turned(linkage(), random_pose(np.random.default_rng(8)))
    yield "four-bar in mm", lambda: linkage(1e-3, 2.5e-3, 2e-3, 3e-3)
    yield "four-bar in km", lambda: linkage(1e3, 2.5e3, 2e3, 3e3)
    yield "resisting four-bar", lambda: _resisting_four_bar()
    yield "five-bar", five_bar
    yield "Bennett linkage", bennett


def _turned(robot: lw.Robot, X: Any) -> lw.Robot:
    """Return the robot and gravity, moved by X in the world."""
    tree = turned(robot.tree, X)
    frames = tuple(
        next(f for f in robot.tree.frames if f.name == "world") if f.name == "world" else f for f in tree.frames
    )
    return lw.Robot(replace(tree, frames=frames))


def _with_massless_link() -> lw.Robot:
    links = _links(3)
    links[1] = lw.Link("l1")
    robot = _chain(_turn(), _turn(), _slide())
    return lw.Robot.build("chain", *links, *robot.joints)


def _with_one_motor(robot: lw.Robot) -> lw.Robot:
    return robot.with_actuators(lw.Actuator.motor("m", "j0", force_range=(-90.0, 90.0)))


def _resisting_four_bar() -> lw.Robot:
    robot = linkage().with_joint_dynamics(damping={"crank": 0.2, "knee": 0.1}, friction={"rocker": 0.05})
    loop = robot.constraints[0]
    return robot.without_constraints(loop.name).with_loop("pin", "end", "tip", loop.joint, damping=0.1, stiffness=0.5)


def _kinds() -> Iterator[tuple[str, str, Callable[[], Any]]]:
    for kind in ALL:
        yield f"tree: {kind.type_name()}", "joint types in a tree", functools.partial(_on_joint_type, kind)
    for kind in ALL:
        yield f"loop: {kind.type_name()}", "joint types that close a loop", functools.partial(_with_loop_of, kind)
    reached = lw.constraints.Ball("flange", point=(0.3, 0.2, 0.5))  # the arm of the others reaches no such point
    yield "constraint: Ball", "kinds of constraints", lambda: lw.load("arm7").with_constraints(reached)
    for constraint, robot in TRIED:
        name = f"constraint: {type(constraint).__name__}"
        yield (
            name,
            "kinds of constraints",
            functools.partial(lambda c, r: r if c in r.constraints else r.with_constraints(c), constraint, robot),
        )
    for name, build in _special():
        yield name, "features", build
    for name in mechanisms():
        yield f"random mechanism: {name}", "features", functools.partial(lambda n: mechanisms()[n], name)
    for name in lw.robots.names():
        if name != "humanoid":  # which is a tree as the quadruped is, and takes minutes
            yield name, "bundled robots", functools.partial(lw.load, name)


_BUILDERS = {}
for _name, _family, _build in _kinds():
    _BUILDERS.setdefault(_name, (_family, _build))
KINDS = tuple(_BUILDERS)
FAMILIES = tuple(dict.fromkeys(family for family, _ in _BUILDERS.values()))


def opened(robot: lw.Robot) -> lw.Robot:
    """Return the robot without its constraints."""
    return (
        robot.without_constraints(*(constraint.name for constraint in robot.constraints))
        if robot.constraints
        else robot
    )


def family_of(name: str) -> str:
    """Return the family of a kind."""
    return str(_BUILDERS[name][0])


@functools.cache
def kind_of(name: str) -> Kind:
    family, build = _BUILDERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a linkage of kilometres
        kind = build()
    if isinstance(kind, lw.Robot):
        return Kind(name, family, kind)
    return Kind(name, family, lw.Robot(kind.tree), np.array(kind.q))
