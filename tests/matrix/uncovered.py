"""The public names that take a robot, and those without a verb, each with the reason."""

from __future__ import annotations

import inspect

import linkwork as lw
from helpers.public_interface import all_members, public_classes, public_modules
from linkwork import control, ik, optimal, simulation
from linkwork._util.foreign_names import ForeignName

__all__ = ["NO_VERB", "public_names"]

BASES = (control.ControlLaw, ik.Task, optimal.Feature, simulation.Sensor)
CLASSES = tuple(cls for cls in public_classes() if issubclass(cls, BASES) and not inspect.isabstract(cls))


def public_names() -> set[str]:
    """Return methods of robots, classes of tasks, features, laws and sensors, and functions that take a robot."""
    members = {name: value for name, value in all_members(lw.Robot).items() if not name.startswith("_")}
    names = {name for name, value in members.items() if callable(getattr(value, "__func__", value))}
    names |= {name for name, value in members.items() if isinstance(value, property)} & _LISTED
    names |= {f"{public_classes()[cls].removeprefix('linkwork.')}.{cls.__name__}" for cls in CLASSES}
    for title, module in public_modules().items():
        for name in module.__all__:
            value = getattr(module, name)
            is_function = inspect.isroutine(value) and not isinstance(value, ForeignName) and title.count(".") == 1
            if is_function and "robot" in inspect.signature(value).parameters:
                names.add(f"{title.removeprefix('linkwork.')}.{name}")
    return names | _LISTED


_LISTED = {
    "Robot.__reduce__", "Simulator", "armature", "collision_pairs", "collision_shapes",
    "configuration_space", "control.LQRController", "control.ModelPredictiveController",
    "control.StateSpace", "control.TVLQRController", "control.check_controller", "damping",
    "directions", "environments.ControlTask", "environments.SingleEnvironment",
    "environments.VectorEnvironment", "frames", "gravity", "joints", "limits", "links", "load",
    "mass", "motion.TrackedPath", "motion.Trajectory.concatenate", "motion.Trajectory.load",
    "motion.Trajectory.retimed", "motion.Trajectory.reversed", "motion.Trajectory.save",
    "motion.Trajectory.to_csv", "motion.pose_spline", "motion.profile", "motion.spline",
    "motion.time_optimal", "optimal.TrajectoryProblem", "optimal.TrajectoryProblem.add_limits",
    "optimal.TrajectoryProblem.controller", "optimal.TrajectoryProblem.solve",
    "planning.PlanResult.timed", "planning.PlanResult.trajectory", "planning.Roadmap", "points",
    "report", "simulation.ContactGround", "simulation.ContactPoint", "simulation.ContactScene",
    "simulation.Event", "simulation.Simulation.load", "simulation.Simulation.save",
    "viewer.scene_document", "workspace.WorkspaceMap",
}  # fmt: skip
"""Names of other kinds that verbs cover."""

_BUILDS = "builds a robot: the kinds are made with it, or tests/robots"
_NAMES = "looks a name up"
_CONTACTS = "needs contacts, which the verbs of simulation have"
NO_VERB = {
    **dict.fromkeys(("build", "from_dh", "from_mujoco", "from_urdf", "from_urdf_string"), _BUILDS),
    **dict.fromkeys(("with_actuators", "without_actuators", "with_couplings", "with_constraints"), _BUILDS),
    **dict.fromkeys(("without_constraints", "with_loop", "with_force_elements", "without_force_elements"), _BUILDS),
    **dict.fromkeys(("with_collisions", "with_collision_hulls", "with_collision_pairs", "with_joint"), _BUILDS),
    **dict.fromkeys(("with_named_configuration", "without_named_configurations"), _BUILDS),
    **dict.fromkeys(("joint", "link", "q_index", "v_index", "moving_joints", "parameter_names"), _NAMES),
    "compare_with_library": "compares with another library, which has few of the kinds: tests/oracles",
    "mass_matrix_null_space": "is empty unless links have no mass: tests/dynamics",
    "passive_torque": "is passive_force without the configuration",
    **dict.fromkeys(("simulation.ContactSensor", "simulation.TouchSensor"), _CONTACTS),
    **dict.fromkeys(("optimal.ContactForce", "optimal.ContactHeight", "optimal.FrictionCone"), _CONTACTS),
    **dict.fromkeys(("optimal.StickingContact", "optimal.SurfaceCone"), _CONTACTS),
    **dict.fromkeys(("optimal.ParameterFeature", "optimal.VariableFeature"), "is of a problem, not of a robot"),
    **dict.fromkeys(("optimal.HolonomicFeature", "optimal.VelocityConstraint"), "is made by problems with constraints"),
    "optimal.Feature": "is the base of features",
    "constraints.check_constraint": "is asked of all kinds of constraints: tests/constraints",
    "force_elements.check_force_element": "is asked of all kinds of elements: tests/force_elements",
    "collision.fingerprint": "is a digest, of maps and roadmaps: tests/workspace, tests/planning",
    "identify.exciting_trajectory": "takes seconds for a robot: tests/identify",
    **dict.fromkeys(("simulation.actuator_servos", "simulation.actuator_torque"), "is of actuators: tests/model"),
}
