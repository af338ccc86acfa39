"""Random robots with joints of every kind, in random places, and with everything that a writer may lose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import constraints, joints, shapes
from linkwork.force_elements import Bushing, SpringDamper
from linkwork.joints.base.generic_rank import check_joint_type
from linkwork.model.body import WORLD, Body, DisabledPair, Drive, Following, Frame, Limits, Point
from linkwork.model.composite_body import with_summed_inertias
from linkwork.model.description import NamedState
from linkwork.model.random_tree import random_inertia, random_pose
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Rotation, Vec3

__all__ = ["KINDS", "State", "drawn_robot"]

INF = math.inf
SIMPLE = (joints.Revolute, joints.Prismatic)
PARTNERS = (*SIMPLE, joints.UnboundedRevolute, joints.Universal, joints.Planar, joints.Fixed)
LOOPS = (*SIMPLE, joints.Spherical, joints.Fixed, joints.Universal, joints.Planar, joints.Cylindrical, joints.Helical)
KINDS = [(kind, form) for form in ("alone", "reversed", "only part", "part") for kind in joints.ALL]

State = dict[str, list[float]]  # values by joint


class _Drawer:
    """Drawer of one robot whose first joint is of a kind."""

    def __init__(self, kind: type[joints.JointType], form: str, seed: int) -> None:
        self.kind, self.form = kind, form
        self.rng = np.random.default_rng([joints.ALL.index(kind), len(form), seed])

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def choice(self, values: Sequence[Any]) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def number(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def pose(self) -> Pose:
        """A pose in general position, or with one part that is the identity."""
        X = random_pose(self.rng)
        turned, moved = Pose(X.rotation, Vec3.zero()), Pose(Rotation.identity(), X.translation)
        return self.choice((X, X, X, turned, moved, Pose.identity()))

    def joint(self) -> joints.JointType:
        """A joint of the kind in its form; another if its parts have dependent motions or too many of them."""
        while True:
            joint = self.kind.example(self.rng)
            try:
                match self.form:
                    case "reversed" if self.kind is not joints.Reversed:
                        joint = joints.Reversed(joint)
                    case "only part":
                        joint = joints.Composite((joint,), (self.pose(),))
                    case "part":
                        pair = [joint, self.choice(PARTNERS).example(self.rng)]
                        pair = pair if self.chance(0.5) else pair[::-1]
                        joint = joints.Composite(tuple(pair), (self.pose(), self.pose()))
                check_joint_type(joint)
            except ValueError:
                continue
            return joint

    def values(self, count: int, share: float, low: float, high: float, least: float = 0.0) -> tuple[float, ...]:
        """No values, equal ones, or ones of which some are ``least``."""
        if not self.chance(share):
            return ()
        result = self.rng.uniform(low, high, count)
        if self.chance(0.5):
            return (float(result[0]),) * count if count else ()
        return tuple(float(x) if self.chance(0.7) else least for x in result)

    def limits(self, joint: joints.JointType) -> Limits:
        def some(count: int, low: float, high: float, no_limit: float, share: float = 0.5) -> tuple[float, ...]:
            return tuple(self.number(low, high) if self.chance(share) else no_limit for _ in range(count))

        nq, nv = joint.nq, joint.nv
        rates = [some(nv, 1.0, 5.0, INF, 0.15) for _ in range(2)]
        rates = [x if any(map(math.isfinite, x)) else () for x in rates]
        positions = some(nq, -3.0, 0.0, -INF), some(nq, 0.1, 3.0, INF)
        return Limits(*positions, some(nv, 1, 5, INF), some(nv, 1, 5, INF), self.chance(0.85), *rates)

    def drive(self, joint: joints.JointType) -> Drive:
        nv, free = joint.nv, [INF] * joint.nq
        relaxed = joint.random(self.rng, [-x for x in free], free, ()).tolist() if self.chance(0.4) else ()
        return Drive(
            self.values(nv, 0.4, 0.1, 1.0),
            self.values(nv, 0.15, 2.0, 50.0, 1.0),
            self.values(nv, 0.5, 1.0, 20.0),
            tuple(relaxed),
            self.values(nv, 0.1, 2.0, 3.0, 2.0),
            self.values(nv, 0.1, 0.1, 1.0, 0.1),
        )

    def shape(self) -> shapes.Geometry:
        a, b, c = self.rng.uniform(0.1, 0.3, 3).tolist()
        kinds = [shapes.Box((a, b, c)), shapes.Sphere(a), shapes.Cylinder(a, b), shapes.Capsule(a, b)]
        kinds += [shapes.Cone(a, b), shapes.Ellipsoid((a, b, c))]
        return shapes.Geometry(self.choice(kinds), self.pose(), "", None, c if self.chance(0.3) else None)

    def body(self, i: int) -> tuple[Body, list[Frame]]:
        joint = self.joint() if i == 0 else self.choice(SIMPLE).example(self.rng)
        parent = int(self.rng.integers(-1, i)) if i else WORLD
        is_base = joint == joints.Floating() and self.chance(0.4)
        placement, rotor = (Pose.identity(),) * 2 if is_base else (self.pose(), self.pose())
        limits = Limits.none(joint) if is_base else self.limits(joint)
        mass = random_inertia(self.rng) if self.chance(0.85) else Inertia.zero()
        frames = [Frame(f"body{i}", i, Pose.identity(), mass, collisions=(self.shape(),))]
        if self.chance(0.7):
            fixed = (f"mount{i}", f"body{i}") if self.chance(0.5) else (None, None)
            inertia = random_inertia(self.rng, 0.3) if self.chance(0.5) else Inertia.zero()
            frames.append(Frame(f"tool{i}", i, self.pose(), inertia, (self.shape(),), (), *fixed))
            frames.append(Frame(f"mark{i}", i, self.pose(), welded_to=f"tool{i}"))
        nv = joint.nv
        resists = [self.values(nv, 0.5, 0.1, 1.0) or (0.0,) * nv for _ in range(2)]
        law = "none" if self.chance(0.1) else "urdf"
        names = f"body{i}", parent, f"joint{i}"
        body = Body(*names, joint, placement, rotor, Inertia.zero(), limits, *resists, dynamics=law)
        return replace(body, drive=self.drive(joint)), frames

    def tree(self) -> Tree:
        count = int(self.rng.integers(1, 5))
        drawn = [self.body(i) for i in range(count)]
        bodies, frames = [body for body, _ in drawn], [frame for _, each in drawn for frame in each]
        if self.chance(0.5):
            frames.append(Frame("ground", WORLD, self.pose(), random_inertia(self.rng, 0.3)))
        single = [i for i, body in enumerate(bodies) if body.joint.nq == body.joint.nv == 1]
        if len(single) > 1:
            a, b = self.rng.permutation(single)[:2].tolist()
            relation = Following(f"joint{b}", self.number(-2.0, 2.0), self.number(-1.0, 1.0))
            bodies[a] = replace(bodies[a], **{self.choice(("coupling", "mimic")): relation})
        points = tuple(Point(f"p{k}", self.choice(frames).name, Vec3.of(self.rng.normal(size=3))) for k in range(2))
        stacking = tuple(self.rng.permutation(count).tolist()) if self.chance(0.2) else ()
        gravity = Vec3.of(self.rng.uniform(-5.0, 5.0, 3).tolist()) if self.chance(0.5) else Vec3(0.0, 0.0, -9.81)
        bodies = with_summed_inertias(tuple(bodies), tuple(frames))
        return Tree("drawn", bodies, tuple(frames), gravity, stacking=stacking, points=points)

    def attached(self, tree: Tree) -> Tree:
        """The tree with a force element, a loop and actuators, each now and then."""
        robot, frames = lw.Robot(tree), tree.frames
        pairs = [(a, b) for a in frames for b in frames if a.body != b.body]
        if pairs and self.chance(0.4):
            a, b = (frame.name for frame in self.choice(pairs))
            spring = SpringDamper(a, b, stiffness=9.0, damping=0.5, rest_length=self.number(0.0, 0.5), name="spring")
            robot = robot.with_force_elements(self.choice((spring, Bushing(a, b, stiffness=3.0, name="bushing"))))
        if pairs and self.chance(0.5):
            a, b = self.choice(pairs)
            joint, frame = self.choice(LOOPS).example(self.rng), a.name
            if self.chance(0.5):  # closed where each joint is at its zero
                X = at_zero(tree, a).inv() @ at_zero(tree, b) @ joint.X(joint.zero())
                frame = self.choice(("closing", "loop_M", "loop_F"))  # names of ends that readers add
                robot = robot.with_frame(frame, a.name, X)
            loop = constraints.LoopJoint("loop", joint, frame, b.name, damping=self.values(joint.nv, 0.4, 0.1, 1.0))
            robot = robot.with_constraints(loop)
        moving = [body for body in tree.bodies if body.joint.nv and body.coupling is None]
        if moving and self.chance(0.5):
            body = self.choice(moving)
            gears = ((body.joint_name, tuple(self.rng.normal(size=body.joint.nv).tolist())),)
            a, b = (frame.name for frame in self.choice(pairs or [frames[:1] * 2]))
            axes, bias = (b, (0.2, -3.0, -0.4)) if a != b and self.chance(0.5) else (None, (0.0, 0.0, 0.0))
            jet = lw.Actuator("jet", frame=a, relative_to=axes, wrench=self.rng.normal(size=6).tolist(), bias=bias)
            robot = robot.with_actuators(lw.Actuator("motor", gears, bias=(0.5, -2.0, -0.5), offset=0.3), jet)
        a, b = self.choice(pairs or [(frames[0], frames[0])])
        disabled = (DisabledPair(a.name, b.name, "Never"),) if a.is_link and b.is_link and a is not b else ()
        return replace(robot.tree, disabled_collisions=disabled)


def at_zero(tree: Tree, frame: Frame) -> Pose:
    """The pose of a frame where each joint is at its zero, also one that follows another."""
    X, i = frame.placement, frame.body
    while i != WORLD:
        body = tree.bodies[i]
        X, i = body.placement @ body.joint.X(body.joint.zero()) @ body.rotor @ X, body.parent
    return X


def drawn_robot(kind: type[joints.JointType], form: str, seed: int) -> tuple[Tree, State, State, State]:
    """A random tree whose first joint is of a kind, and q, v and a by joint, which its named configuration has."""
    drawer = _Drawer(kind, form, seed)
    tree = drawer.attached(drawer.tree())
    independent = [body for body in tree.bodies if body.coupling is None]
    q = {
        b.joint_name: b.joint.random(drawer.rng, [-INF] * b.joint.nq, [INF] * b.joint.nq, ()).tolist()
        for b in independent
    }
    v, a = ({b.joint_name: drawer.rng.normal(size=b.joint.nv).tolist() for b in independent} for _ in range(2))
    pairs = [tuple((name, tuple(x)) for name, x in values.items() if x) for values in (q, v)]
    return replace(tree, named_configurations=(NamedState("drawn", *pairs),)), q, v, a
