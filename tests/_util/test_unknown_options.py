"""Unknown options: the error names an existing option."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.helpers.public_interface import public_classes, public_functions

import linkwork as lw
from linkwork._util.checked_arguments import public
from linkwork._util.foreign_names import (
    FEATURES,
    FUNCTION_REMEDIES,
    MISSING_REMEDIES,
    OPTIONS,
    POSITIONAL_REMEDIES,
    RECORDS,
    by_foreign_name,
    own_name,
)
from linkwork.errors import UnknownNameError
from linkwork.optimal.features import BY_NAME

ARM: Any = lw.load("double_pendulum")
Q = np.zeros(2)
LINE: Any = lw.motion.spline([0.0, 1.0], [[0.0], [1.0]])


def _parameters() -> dict[str, set[str]]:
    """Return the parameters of public functions and constructors by the last part of their names."""
    result: dict[str, set[str]] = {}
    for name, function in public_functions():
        if not isinstance(function, property) and callable(function):
            result.setdefault(name.rpartition(".")[2], set()).update(inspect.signature(function).parameters)
    for kind in public_classes():
        if "__init__" in vars(kind):
            result.setdefault(kind.__name__, set()).update(inspect.signature(kind.__init__).parameters)
    return result


def test_every_option_suggested_for_a_foreign_option_exists() -> None:
    parameters = _parameters()
    known = set().union(*parameters.values())
    assert {own_name(key) for key in OPTIONS} <= known
    for caller in (*FUNCTION_REMEDIES, *POSITIONAL_REMEDIES):
        assert caller in parameters, caller
    assert all(remedies.keys() <= parameters[caller] for caller, remedies in MISSING_REMEDIES.items())
    for caller, remedies in FUNCTION_REMEDIES.items():
        # joints= is an option of Simulation.plot alone, of all methods named plot
        assert not remedies.keys() & parameters[caller] - {"self", "joints"}, caller
    for key, names in OPTIONS.items():
        assert len({*names}) == len(names) and own_name(key) not in names, key


def test_unknown_keyword_arguments_are_refused_with_the_nearest_existing_name() -> None:
    calls: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("inverse_kinematics: no option named 'q0'; use q_init", lambda: ARM.inverse_kinematics(np.eye(4), q0=Q)),
        (
            "inverse_kinematics: .*'tol'; use position_tolerance or orientation_tolerance",
            lambda: ARM.inverse_kinematics(np.eye(4), "tip", tol=1e-3),
        ),
        ("inverse_kinematics: .*'mask'; ik.PositionTask", lambda: ARM.inverse_kinematics(np.eye(4), "tip", mask=[1])),
        ("inverse_kinematics: .*'position'; X_target is also", lambda: ARM.inverse_kinematics(position=[1, 2, 3])),
        ("inverse_kinematics: .*'tasks'; Robot.ik_problem", lambda: ARM.inverse_kinematics(tasks=[])),
        ("inverse_kinematics: .*'targets'; Robot.ik_problem", lambda: ARM.inverse_kinematics(targets=[], frame="tip")),
        ("inverse_kinematics: frame: .*Robot.ik_problem", lambda: ARM.inverse_kinematics(lw.ik.PositionTask("tip"))),
        ("plan: .*'orientation_tolerance'; a goal .x, y, z.", lambda: ARM.plan(Q, Q, orientation_tolerance=np.inf)),
        ("plan: no option named 'timeout'; use time_limit, in seconds", lambda: ARM.plan(Q, Q, timeout=5)),
        ("plan: no option named 'time_limt'; did you mean 'time_limit'", lambda: ARM.plan(Q, Q, time_limt=5)),
        ("plan: .*'velocity'; a path has no times: PlanResult.timed", lambda: ARM.plan(Q, Q, velocity=1.0)),
        ("simulate: no option named 'timestep'; use dt, in seconds", lambda: ARM.simulate(Q, timestep=0.001)),
        ("simulate: .*'trajectory'; use time_inputs={'target': ", lambda: ARM.simulate(Q, trajectory=LINE)),
        ("simulate: .*'effort_limits'; .* lw.control.PD", lambda: ARM.simulate(Q, effort_limits=1.0)),
        ("simulate: .*; there are 'constants', .*, 'wrenches'$", lambda: ARM.simulate(Q, zzz=1.0)),
        ("Encoder: no option named 'rate'; sensors are read in every step", lambda: lw.simulation.Encoder(rate=9)),  # type: ignore[call-arg]
        ("Simulator: no option named 'num_envs'; use batch", lambda: lw.Simulator(ARM, num_envs=3)),  # type: ignore[call-arg]
        ("load: .*'fixed_base'; use floating_base, the opposite", lambda: lw.load("fourbar", fixed_base=True)),  # type: ignore[call-arg]
        ("from_urdf: .*'fixed_base'; use floating_base", lambda: lw.Robot.from_urdf("x", fixed_base=True)),  # type: ignore[call-arg]
        ("jacobian: no option named 'local'; use expressed_in", lambda: ARM.jacobian(Q, "tip", local=True)),
        ("mass_matrix: .*'other'; there are 'out', 'passive'", lambda: ARM.mass_matrix(Q, other=1)),
        ("lqr_about_state: no option named 'dT'; use dt", lambda: lw.control.lqr_about_state(ARM, Q, dT=0.1)),  # type: ignore[call-arg]
        ("PD: no option named 'gain'; use kp", lambda: lw.control.PD(ARM, gain=1.0)),  # type: ignore[call-arg]
        ("TrajectoryProblem: .*'N'; use num_steps", lambda: lw.TrajectoryProblem(ARM, N=20)),  # type: ignore[call-arg]
        ("time_optimal: .*'vmax'; use velocity", lambda: lw.motion.time_optimal(LINE, vmax=1.0)),  # type: ignore[call-arg]
        ("Cylinder: no option named 'height'; use length", lambda: lw.shapes.Cylinder(radius=1.0, height=1.0)),  # type: ignore[call-arg]
        ("Actuator.motor: .*'gear_ratio'; use gear", lambda: lw.Actuator.motor("a", "elbow", gear_ratio=2.0)),  # type: ignore[call-arg]
        ("pose: .*'parameters'; robot.with_parameters", lambda: ARM.pose(Q, "tip", parameters={})),
        ("pose: frame: expected a value, got none; the robot's frames are .*'tip'", lambda: ARM.pose(Q)),
        ('from_dh: convention: .*none; "standard"', lambda: lw.Robot.from_dh("p", [{}])),  # type: ignore[call-arg]
        ("join_robots: .* got 2; pass the robots as a dict", lambda: lw.join_robots(ARM, ARM)),  # type: ignore[call-arg, arg-type]
        ("load: .*'scale'; lengths of URDF are in m", lambda: lw.load("fourbar", scale=1e-3)),  # type: ignore[call-arg]
        ("drive_mechanism: .*'wrenches'; motion.with_loads", lambda: ARM.drive_mechanism({}, wrenches={})),
        ("pose: .*'degrees'; angles are in rad", lambda: lw.pose(rpy=(0, 0, 9), degrees=True)),  # type: ignore[call-arg]
        ("pose: .*'quaternion_xyzw'; .*numpy.roll", lambda: lw.pose(quaternion_xyzw=(0, 0, 0, 1))),  # type: ignore[call-arg]
        ("pose: .* got 3; options are passed by name", lambda: lw.pose(1, 2, 3)),  # type: ignore[call-arg]
        ("show: no option 'gif'; animation.*of a trajectory", lambda: ARM.show(gif="a.gif")),
        ("show: no option 'svg'; plot.*savefig", lambda: ARM.show(svg="a.svg")),
        ("Actuator: .*'between'; a cylinder between two points", lambda: lw.Actuator("a", between=("a", "b"))),  # type: ignore[call-arg]
        ("Scene: no option named 'boxes'; there are 'obstacles'", lambda: lw.Scene(boxes=[])),  # type: ignore[call-arg]
    )
    for said, call in calls:
        with pytest.raises(TypeError, match=f"^{said}") as caught:
            call()
        assert type(caught.value) is TypeError
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        assert len(traceback.extract_tb(caught.value.__traceback__)) <= 6


@pytest.mark.slow(every=5)
def test_unknown_keyword_arguments_are_refused_by_functions_that_forward_options() -> None:
    plan = ARM.plan(Q, Q + 0.1)
    with pytest.raises(TypeError, match=r"^PlanResult.timed: no option named 'vmax'; use velocity$"):
        plan.timed(vmax=3.0)
    problem = ARM.ik_problem(lw.ik.PoseTask("tip"))
    with pytest.raises(UnknownNameError, match=r"^IKProblem.solve: no target named 'q0'; .*'tip'; .*use q_init$"):
        problem.solve(q0=Q)
    with pytest.raises(UnknownNameError, match=r"^IKProblem.solve: .*named 'tp'; did you mean 'tip'"):
        problem.solve(tp=np.eye(4))


def test_hints_for_foreign_names_of_features_and_records_name_existing_features_and_records() -> None:
    """Each hint names a thing that exists."""
    problem = lw.TrajectoryProblem(ARM, num_steps=5, duration=1.0)
    for name, key in by_foreign_name(FEATURES).items():
        with pytest.raises(ValueError, match=rf"^TrajectoryProblem.add: feature: .* called {name!r}; use {key[0]!r}$"):
            problem.add(name, "cost")
        assert key[0] in BY_NAME
    for name in by_foreign_name(RECORDS):
        with pytest.raises(
            UnknownNameError, match=rf"^simulate: record: .* named {name!r}; use 'tau', the joint forces"
        ):
            ARM.simulate(Q, duration=0.01, record=[name])
    with pytest.raises(UnknownNameError, match=r"^simulate: record: .*'com'; use 'center_of_mass'"):
        ARM.simulate(Q, duration=0.01, record=["com"])
    with pytest.raises(ValueError, match=r"^simulate: record: .* got 'q'; every simulation has q"):
        ARM.simulate(Q, duration=0.01, record=["q"])
    with pytest.raises(UnknownNameError, match=r"'rnea'; use 'inverse_dynamics'"):
        ARM.compile("rnea")


def test_too_many_positional_arguments_are_refused() -> None:
    for said, call in (
        ("forward_kinematics: .* got 2; for one frame use robot.pose", lambda: ARM.forward_kinematics(Q, "tip")),
        ("TrajectoryProblem: .* 1 positional argument, got 2; .* 'num_steps'", lambda: lw.TrajectoryProblem(ARM, 20)),  # type: ignore[call-arg]
        ("Scene.to_json: expected no positional arguments, got 1; .*write_text", lambda: lw.Scene().to_json("x")),  # type: ignore[call-arg]
        ("Box: .* 1 positional argument, got 3; .* Box..x, y, z", lambda: lw.shapes.Box(1.0, 1.0, 1.0)),  # type: ignore[call-arg, arg-type]
        ("show: .* 1 positional argument, got 2; .* by name: 'times', 'scene'", lambda: ARM.show([0.0], lw.Scene())),  # type: ignore[call-arg]
        ("is_motion_free: .* at most 3 .* got 4; .* 'collision_check'", lambda: ARM.is_motion_free(Q, Q, None, 1)),
    ):
        with pytest.raises(TypeError, match=f"^{said}"):
            call()
    assert ARM.forward_kinematics(Q).shape[-2:] == (4, 4)
    assert [*inspect.signature(ARM.forward_kinematics).parameters] == ["q", "out"]


def test_arguments_that_are_passed_by_position_and_by_name_are_refused() -> None:
    problem = ARM.ik_problem([lw.ik.PositionTask("tip")])
    with pytest.raises(
        TypeError, match=r"^IKProblem.solve: q_init: expected one value, got {.*} and q_init=.*\*\*dict$"
    ):
        problem.solve({"tip": [0.1, 0.0, 0.0]}, q_init=Q)
    with pytest.raises(TypeError, match=r"^simulate: q: expected one value, got .* and q=2"):
        ARM.simulate(Q, q=2.0, duration=0.01)  # type: ignore[misc]


def test_type_errors_raised_inside_a_users_function_propagate_unchanged() -> None:
    @public
    def applied(function: Any, **more: Any) -> Any:
        return function(**more)

    def own(x: float) -> float:
        return x

    with pytest.raises(TypeError, match=r"own.* got an unexpected keyword argument 'timeout'"):
        applied(own, timeout=1.0)


def test_contacts_of_feet_in_dynamics_are_explained_as_constraints() -> None:
    robot: Any = lw.load("double_pendulum")
    q = np.zeros(2)
    for call in (robot.forward_dynamics, robot.constrained_forward_dynamics, robot.inverse_dynamics):
        with pytest.raises(TypeError, match=r"no option named 'contacts'; constraints.Ball\(foot, point=\.\.\.\)"):
            call(q, q, q, contacts=["lower_rod"])
    with pytest.raises(AttributeError, match="Forces of the ground on feet"):
        _ = robot.contact_dynamics


def test_joints_passed_as_options_are_shown_in_the_dict_that_the_function_takes() -> None:
    robot: Any = lw.load("double_pendulum")
    with pytest.raises(TypeError, match=r"values of joints are in a dict, such as joints=\{'elbow'"):
        robot.with_locked_joints(elbow=1.0)
    with pytest.raises(TypeError, match=r"^neutral: no option named 'elbow'"):
        robot.neutral(elbow=1.0)


def test_members_of_lists_accessed_as_attributes_are_shown_with_brackets() -> None:
    robot: Any = lw.load("double_pendulum").with_named_configuration("home", {"elbow": 1.0})
    with pytest.raises(AttributeError, match=r"has no attribute 'home'; write \['home'\]"):
        _ = robot.named_configurations.home
    with pytest.raises(AttributeError, match=r"a list of joints has no attribute 'nope'$"):
        _ = robot.joints.nope
    assert not hasattr(robot.joints, "_ipython_display_")
