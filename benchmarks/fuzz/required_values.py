"""Good arguments of one public callable each, "callable.parameter", and the options that a call needs."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.fuzz.callable_objects import (
    arm,
    measured,
    scene,
    scene_file,
    simulator,
)
from linkwork import (
    motion,
    optimal,
    shapes,
    simulation,
    spatial,
)

__all__ = ["BESIDES", "OWN_VALUES", "REQUIRED"]

REQUIRED: dict[str, tuple[str, ...]] = {  # options that a call needs one of
    "Prescribed": ("joint", "motion"),
    "ProfileFunction": ("velocity", "acceleration", "jerk"),
    "profile": ("velocity", "acceleration", "jerk"),
    "Robot.profile": ("velocity", "acceleration", "jerk"),
    "time_optimal": ("velocity", "acceleration"),
    "RangeSensor": ("scene",),
    "Robot.branches": ("hold",),
    "Trajectory.sampled": ("num_samples",),
    "arc": ("via", "X1"),
    "finite_horizon_lqr": ("num_steps",),
    "scan": ("length",),
    "Actuator": ("joints",),
    "CenterOfMass": ("x",),
    "ControlTask": ("joints", "efforts"),
    "Trajectory.concatenate": ("allow_jump",),
    "Robot.save_loops": ("overwrite",),
    "TrackedPath.timed": ("velocity", "acceleration"),
}

BESIDES: dict[str, dict[str, Any]] = {  # by option: what the other arguments are beside it
    "vectors": {"directions": ["hand"]},
    "positions": {"points": ["hand"]},
}

_ROWS = ("q", "v", "a", "tau")  # what `measured` gives

OWN_VALUES: dict[str, Any] = {
    "**output": lambda _: {"html": "own.html"},
    "scene_document.contents": lambda _: scene(),
    "side_by_side.contents": lambda _: [scene()],
    "plot_poses.poses": lambda _: {"world": lw.pose(), "tip": lw.pose((0.1, 0.2, 0.3))},
    **dict.fromkeys(
        (f"write_{kind}.document" for kind in ("page", "glb", "png", "mp4")),
        lambda _: lw.viewer.scene_document(scene()),
    ),
    **dict.fromkeys(("path.name", "loops.name"), "fourbar"),
    "Robot.compare_with_library.library": "pinocchio",
    "Robot.without_constraints.*names": [],
    "Robot.configuration.joints": {"shoulder": 0.3},
    "Robot.with_srdf_document.document": lambda _: arm().srdf_document(),
    "Robot.with_joint_limits_document.document": lambda _: "joint_limits: {shoulder: {max_velocity: 1.0}}",
    "spline.q": lambda _: [[0.0, 0.0], [0.1, 0.2], [0.2, 0.1]],
    "Robot.spline.q": lambda _: [[0.0, 0.0], [0.1, 0.2], [0.2, 0.1]],
    "Trajectory.retimed.times": 2.0,
    "PointCloud.points": lambda _: np.eye(3),
    "Scene.with_point_cloud.points": lambda _: np.eye(3),
    "convex_hull.points": lambda _: np.concatenate([np.eye(3), np.zeros((1, 3))]),
    "Scene.with_compound.parts": lambda _: [shapes.Sphere(0.1).at([0.0, 0.0, 0.0])],
    "Compound.parts": lambda _: [shapes.Sphere(0.1).at([0.0, 0.0, 0.0])],
    "Mesh.uri": "part.stl",
    "Scene.only.names": ["ball"],
    "load_scene.path": lambda _: scene_file(),
    "Scene.from_dict.document": lambda _: scene().to_dict(),
    "Scene.from_json.text": lambda _: scene().to_json(),
    "CartesianPath.append.other": lambda _: motion.line(lw.pose([1.0, 0.0, 0.0]), lw.pose([1.0, 1.0, 0.0])),
    "ContactMaterial.beside.other": lambda _: simulation.ContactMaterial(),
    "ContactSensor.contacts": lambda _: simulation.ContactGround(("hand",)),
    "PoseRegion.lower": [-1.0] * 6,
    "PoseRegion.upper": [1.0] * 6,
    "scan.init": 1.0,
    "scan.f": lambda _: lambda s, x: (s, s),
    "fori_loop.lower": 0,
    "fori_loop.upper": 3,
    "fori_loop.body_fun": lambda _: lambda i, s: s,
    "fori_loop.init": 1.0,
    "while_loop.init": 1.0,
    "check_feature.feature": lambda _: lw.optimal.ConfigurationFeature(),
    "Actuator.joints": (("elbow", (1.0,)),),
    "while_loop.body_fun": lambda _: lambda s: s + 1.0,
    "fixed_point.step": lambda _: lambda s: 0.5 * s,
    "fixed_point.start": 1.0,
    "root.start": 1.0,
    "while_loop.cond_fun": lambda _: lambda s: s < 3.0,
    "call.function": lambda _: lambda *x: 1.0,
    "array.values": [1.0, 2.0],
    "lqr.R": [[1.0]],
    "finite_horizon_lqr.R": [[1.0]],
    "finite_horizon_lqr.num_steps": 5,
    "low_pass.t": lambda _: np.arange(100) * 0.01,
    "low_pass.x": lambda _: np.sin(np.arange(100) * 0.01),
    "differentiate.t": lambda _: np.arange(100) * 0.01,
    "differentiate.q": lambda _: np.sin(np.arange(200).reshape(100, 2) * 0.01),
    **{
        f"{f}.{n}": (lambda _, i=i: measured()[i])
        for f, names in (
            ("base_parameters", _ROWS),
            ("inertias", _ROWS),
            ("excitation", _ROWS[:3]),
            ("placements", "q"),
        )
        for i, n in enumerate(names)
    },
    "ControlTask.start": lambda _: lambda rng: (np.zeros(2), np.zeros(2)),
    "Push.frame": "hand",
    "Push.wrench": lambda _: np.zeros(6),
    "Trajectory.slice.start": 0.2,
    "propagate_motion.parent": lambda _: (np.eye(4), np.zeros(6), np.zeros(6)),
    "Kernel.jacobian.*by": ["x"],
    **{f"Kernel.{f}.*by": ["x"] for f in ("jvp", "vjp", "jacobian_pattern", "hessian", "hessian_pattern")},
    "Kernel.value_and_gradient.*by": ["x"],
    "compile.**shapes": {"x": 2},
    "compile.function": lambda _: lambda x: x,
    "PD.__call__.**inputs": {"target_q": np.zeros(2)},
    "Robot.velocity_for.**targets": {"hand": [0.5, 0.1, 0.0]},
    "WholeBody.answer.**inputs": {
        "hand": np.zeros(3),
    },
    "PlanResult.timed.**limits": {"acceleration": 1.0},
    "DifferentialIK.velocity.**targets": {"hand": [0.5, 0.1, 0.0]},
    "lt.y": 1.0,
    "where.condition": 1.0,
    "actuator_servos.controls": {},
    "actuator_torque.controls": {},
    "time_optimal.acceleration": 1.0,
    "Robot.parameters.names": "gravity",
    "Robot.with_parameters.values": {"gravity": [0.0, 0.0, -9.0]},
    "Robot.joint.name": "elbow",
    "Robot.link.name": "upper",
    "Robot.with_joint.joint": lambda _: arm().joint("elbow"),
    "Robot.with_loop.joint": lambda _: lw.joints.Spherical(),
    "Reversed.joint": lambda _: lw.joints.Revolute(spatial.Vec3(0.0, 0.0, 1.0)),
    "Robot.precompile.functions": ["mass_matrix"],
    "Robot.from_dh.rows": [{"theta": 0.0, "d": 0.1, "a": 0.1, "alpha": 0.0}],
    "Scene.with_distance_field.field": lambda _: lw.distance_field([shapes.Sphere(0.1).at([0.0, 0.0, 0.0])], 0.05),
    "TrajectoryProblem.check.name": "start",
    "Roadmap.extended.nodes": 3,
    "TrajectoryProblem.add.kind": "least_squares",
    "Robot.branches.hold": {"crank_hinge": 0.1},
    "Simulator.restore.state": lambda _: simulator().state,
    "Box.support.directions": [[0.0, 0.0, 1.0]],
    "CenterOfMass.x": 0.1,
    "Composite.joints": lambda _: [
        lw.joints.Revolute(spatial.Vec3(0.0, 0.0, 1.0)),
        lw.joints.Prismatic(spatial.Vec3(0.0, 0.0, 1.0)),
    ],
    **{
        f"{name}.contact": lambda _: optimal.PathContact("own", "hand")
        for name in ("ContactForce", "ContactHeight", "StickingContact", "FrictionCone")
    },
    "SurfaceCone.contact": lambda _: optimal.PathContact("own", "hand", surface=True),
    "Coupling.joints": {"shoulder": 1.0, "elbow": -2.0},
    "PolynomialCoupling.coefficients": [0.0, 1.0],
    "Curve.x": [0.0, 0.5, 1.0],
    "Curve.y": [0.0, 0.1, 0.4],
    "CurveCoupling.curve": lambda _: lw.constraints.Curve([0.0, 0.5, 1.0], [0.0, 0.1, 0.4]),
    "Reactions.joint_wrenches": np.zeros((3, 2, 6)),
    "Reactions.loop_joint_wrenches": np.zeros((3, 1, 6)),
    **{
        f"{name}.{end}": (lambda _, frame=frame: frame)
        for name, ends in (("Bushing", ("frame", "relative_to")), ("SpringDamper", ("a", "b")))
        for end, frame in zip(ends, ("hand", "base"), strict=True)
    },
    "ClosedForm.redundant_angle.q": lambda _: np.full(7, 0.1),
    "TrackedPath.timed.acceleration": 1.0,
    "TrackedPath.timed.velocity": 1.0,
    "Ellipsoid.a": 0.1,
    "Ellipsoid.b": 0.1,
    "Ellipsoid.c": 0.1,
    "IKResult.derivative.by": "hand",
    "Robot.from_dh.*parts": [],
    "Robot.with_attached.name": "thing",
    "Robot.with_mounted.at": "hand",
    "StateSpace.frequency_response.omega": [0.1, 1.0],
    "Robot.with_mounted.robot": lambda _: lw.load("fourbar"),
    "join_robots.robots": lambda _: {"left": arm(), "right": arm()},
    "Trajectory.concatenate.allow_jump": True,
    "arc.via": [0.5, 0.5, 0.0],
    "Prescribed.joint": "elbow",
    "Prescribed.motion": lambda _: lambda t: t,
    "scan.length": 3,
}
