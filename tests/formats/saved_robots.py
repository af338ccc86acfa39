"""Robots with content of every kind, for tests of saving and writing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import linkwork as lw
from linkwork import constraints, joints, shapes
from linkwork.model.body import DisabledPair, Drive, Following, Limits
from linkwork.model.random_tree import random_pose, random_tree
from linkwork.spatial import Pose, Rotation, Vec3


def everything() -> lw.Robot:
    """Build a robot with joints of all types, and with everything that a robot can have besides."""
    rng = np.random.default_rng(5)
    tree = random_tree(rng, len(joints.ALL) + 2, types=(*joints.ALL, joints.Revolute, joints.Revolute))
    hinges = [i for i, body in enumerate(tree.bodies) if isinstance(body.joint, joints.Revolute)]
    master, follower, third = (tree.bodies[i] for i in hinges[:3])
    changed = {
        hinges[0]: replace(
            master,
            limits=Limits((-1.25,), (np.inf,), (2.5,), (np.inf,), enabled=False, acceleration=(7.5,), jerk=(80.0,)),
            dynamics="none",
        ),
        hinges[1]: replace(follower, coupling=Following(master.joint_name, -2.5, 0.1), drive=Drive(armature=(0.25,))),
        hinges[2]: replace(third, mimic=Following(master.joint_name, 0.1), links=("ground0", third.name)),
    }
    bodies = tuple(changed.get(i, body) for i, body in enumerate(tree.bodies))
    tree = replace(
        tree, name='all of it: <é & "quotes">', bodies=bodies, stacking=tuple(range(len(bodies) - 1, -1, -1))
    )
    frames = (*tree.frames[:-1], replace(tree.frames[-1], visuals=drawn(rng)))
    tree = replace(tree, frames=frames, gravity=Vec3(0.1, -0.0, -9.8))
    tree = replace(
        tree,
        disabled_collisions=(DisabledPair("body1", "tool2", "Never"),),
        enabled_collisions=(("body2", "tool3"),),
    )
    robot = lw.Robot(tree)
    slide = next(body.joint_name for body in tree.bodies if isinstance(body.joint, joints.Prismatic))
    hinge = third.joint_name
    robot = robot.with_constraints(
        constraints.LoopJoint("pin", joints.Cylindrical((0, 0, 1)), "tool4", "tool6", upper=(1.0, np.inf), damping=0.5),
        constraints.Rolling("tool1", radius=0.1, axis=(1, 0, 0)),
        constraints.Weld("tool3", "tool5", pose=random_pose(rng)),
        constraints.Coupling({hinge: 1.0, slide: 2.0}, offset=0.3),
    ).without_constraints("tool1 rolls: contact")
    robot = robot.with_force_elements(lw.force_elements.SpringDamper("world", "tool2", stiffness=50.0, damping=1.0))
    robot = robot.with_actuators(
        lw.Actuator.motor("motor", hinge, gear=7.0, control_range=(-1, 1)),
        lw.Actuator("thruster", frame="tool3", wrench=(0, 0, 0, 1, 0, 0), gain=(2, 0, 0.5), force_range=(0, np.inf)),
    )
    return robot.with_named_configuration("home", robot.random_configuration(rng), controls=[0.5, -1.0])


def drawn(rng: np.random.Generator) -> tuple[shapes.Geometry, ...]:
    """Return one shape of each kind, some with names and materials."""
    features = [
        shapes.Box((0.1, 0.2, 0.3)),
        shapes.Capsule(0.1, 0.0),
        shapes.Cone(0.1, 0.2),
        shapes.Cylinder(0.1, 1.0 / 3.0),
        shapes.DistanceField(rng.normal(size=(2, 3, 2)), 0.1),
        shapes.Ellipsoid((0.1, 0.2, 0.3)),
        shapes.HalfSpace(),
        shapes.HeightField(rng.normal(size=(3, 2)), (0.1, 0.2), (0.5, 0.25)),
        shapes.Mesh("package://arm/meshes/hand ü.stl", (1.0, -1.0, 0.001)),
        shapes.PointCloud(rng.normal(size=(4, 3)), 0.01),
        shapes.Polytope(rng.normal(size=(20, 3)), overestimate=0.125),
        shapes.Rounded(shapes.Box((0.1, 0.1, 0.02)), 0.01),
        shapes.Sphere(0.1),
    ]
    parts = [shapes.Sphere(0.2).at((0, 0, 1), name="ball"), shapes.Rounded(shapes.Cone(0.1, 0.2), 0.05).at((1, 0, 0))]
    features.append(shapes.Compound(parts))
    red = shapes.Material("red", (1.0, 0.25, 0.0), "red.png")
    turned = Pose(Rotation.from_rpy(0.0, 0.0, 0.3), Vec3(0.0, -0.0, 0.1))  # its last row has a −0
    return tuple(
        [shapes.Geometry(s, turned if k % 2 else Pose.identity(), f"s{k}", red) for k, s in enumerate(features)]
    )
