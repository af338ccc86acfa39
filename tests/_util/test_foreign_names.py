"""Attributes that do not exist: the error names one that does."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import pydoc
import re
from abc import ABC
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.public_interface import public_classes
from linkwork._util import foreign_names, own_code
from linkwork._util.foreign_names import (
    CLASS_REMEDIES,
    CLASSES,
    MODULES,
    OPTIONS,
    REMEDIES,
    ROBOT,
    ForeignName,
    WithForeignNames,
    by_foreign_name,
    own_name,
)


def _public(title: str) -> Any:
    """Return an object of linkwork by its name."""
    return reduce(getattr, title.split("."), lw)


def _fields(kind: type) -> set[str]:
    return {name for base in kind.__mro__ for name in inspect.get_annotations(base)}


def _empty(kind: type) -> Any:
    """Return an instance without values."""
    return tuple.__new__(kind) if issubclass(kind, tuple) else object.__new__(kind)


def test_every_name_suggested_for_a_foreign_name_exists() -> None:
    robot: Any = lw.load("double_pendulum")
    for key in ROBOT:
        assert getattr(robot, own_name(key)) is not None
    for key in MODULES:
        assert _public(own_name(key)) is not None
    for title, table in CLASSES.items():
        for key in table:
            assert own_name(key) in {*dir(_public(title)), *_fields(_public(title))}, (title, key)


def test_file_of_foreign_names_has_each_key_once() -> None:
    """A reader of JSON takes the last of two equal keys."""

    def refuse_duplicates(items: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in items]
        assert len(names) == len({*names}), [name for name in names if names.count(name) > 1]
        return dict(items)

    path = Path(foreign_names.__file__).with_name("foreign_names.json")
    assert json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=refuse_duplicates)["robot"]


def test_dir_of_linkwork_objects_lists_existing_attributes_only() -> None:
    robot = lw.load("double_pendulum")
    assert all(hasattr(robot, name) for name in dir(robot))
    with_foreign_names = [kind for kind in public_classes() if isinstance(kind, WithForeignNames)]
    assert {_public(title) for title in CLASSES} <= {*with_foreign_names}
    for kind in with_foreign_names:
        for listed in (dir(kind), kind.__dir__(_empty(kind))):
            foreign = [name for name in listed if isinstance(inspect.getattr_static(kind, name, None), ForeignName)]
            assert not foreign and "__init__" in listed, kind
        assert "Not an attribute here" not in pydoc.render_doc(kind), kind


def test_hints_of_inherited_foreign_names_name_the_class_at_hand() -> None:
    with pytest.raises(
        AttributeError, match=r"a RobotDistances has no attribute 'p_ACa'; use RobotDistances\.point_a$"
    ):
        _ = lw.collision.RobotDistances.p_ACa
    with pytest.raises(
        AttributeError, match=r"a DistanceResult has no attribute 'p_ACa'; use DistanceResult\.point_a$"
    ):
        _ = lw.collision.DistanceResult.p_ACa


def test_a_subclass_of_robot_may_inherit_from_abc() -> None:
    class Sorted(lw.Robot, ABC):
        pass

    assert isinstance(Sorted(lw.load("double_pendulum")._tree), lw.Robot) and not isinstance(3, lw.Robot)


def test_no_hint_for_a_foreign_name_hides_an_attribute_of_that_name() -> None:
    """A class that gains a name of the tables has the attribute, and the table no longer needs it."""
    for title, table in {"Robot": ROBOT, **CLASSES}.items():
        kind = _public(title)
        for name in [*by_foreign_name(table), *(REMEDIES if title == "Robot" else CLASS_REMEDIES.get(title, {}))]:
            assert isinstance(inspect.getattr_static(kind, name), ForeignName), (title, name)
            assert name not in _fields(kind) and not hasattr(kind, name)
    for name in {**by_foreign_name(MODULES), **REMEDIES}:
        assert name not in lw.__all__, name


def test_coming_from_page_lists_the_foreign_names_that_have_hints() -> None:
    """Names in rows of functions on the page have hints; options on the page are in the table of options."""
    page = (Path(__file__).parents[2] / "docs" / "coming_from.md").read_text(encoding="utf-8")
    hints = {*by_foreign_name(ROBOT), *by_foreign_name(MODULES), *REMEDIES}
    names = page[page.index("## Names") : page.index("## Options")]
    for reference, hint in re.findall(r"^\| `([a-z_]+)\([^|]*\|(.*)$", names, re.MULTILINE):
        for name in re.findall(r"`(\w+)", hint):
            assert name in hints or hasattr(lw.Robot, name) or hasattr(lw, name), (reference, name)
    options, foreign = {own_name(key) for key in OPTIONS}, by_foreign_name(OPTIONS)
    table = page[page.index("## Options") : page.index("## Index maps")]
    for reference, hint in re.findall(r"^\| `(\w+)[^|]*\|(.*)$", table, re.MULTILINE):
        assert reference in options
        for name in re.findall(r"`(\w+)`", hint):
            assert name == reference or reference in map(own_name, foreign[name]) or name.startswith("goal_"), (
                reference,
                name,
            )


def test_attribute_error_of_a_foreign_name_suggests_an_existing_attribute() -> None:
    robot: Any = lw.load("double_pendulum")
    for owner, name, said in (
        (robot, "fkine", "a Robot has no attribute 'fkine'; use robot.pose"),
        (robot, "qlim", "use robot.position_limits"),
        (robot, "check_collision", "use robot.in_collision"),
        (robot, "collision_geometries", "use robot.collision_shapes"),
        (robot, "is_collision_free", "use robot.in_collision, the opposite"),
        (lw.Robot, "from_mjcf", "linkwork.load reads URDF, MJCF"),
        (robot, "visualize", REMEDIES["visualize"]),
        (lw.Scene, "add_box", "a Scene has no attribute 'add_box'; use Scene.with_box, which returns a new scene"),
        (lw.Scene(), "add_box", "use Scene.with_box"),
        (lw.ik.IKResult, "solution", "an IKResult has no attribute 'solution'; use IKResult.q"),
        (lw.motion.spline([0.0, 1.0], [[0.0], [1.0]]), "evaluate", "trajectory.t. returns q, v and a"),
        (robot, "lower_limits", "use robot.lower$"),
        (robot, "with_locked", "use robot.with_locked_joints"),
        (robot, "getFrameId", "frames have names"),
        (lw.Scene(), "dump", r"scene.save\(path\) writes a file"),
        (lw.optimal.OptimalResult, "v", r"result.trajectory\(\)"),
        (lw, "inverse", "numpy.linalg.inv"),
        (lw, "axis_angle", r"linkwork.pose\(axis="),
        (lw, "quaternion_xyzw", "numpy.roll"),
        (lw.shapes, "Prism", "Polytope"),
        (lw.mechanisms, "four_bar", r"load\(.fourbar.\)"),
        (robot, "quintic", "Robot.profile"),
        (robot, "singular_values", "numpy.linalg.svd"),
        (lw.motion.TimedPath, "animation", "timed.trajectory.animation"),
        (lw, "rotz", r"linkwork.pose\(axis='z', angle=...\)"),
        (lw, "trplot", "linkwork.viewer.plot_poses"),
        (lw, "load_srdf", "use linkwork.Robot.with_srdf_document"),
        (robot, "with_velocity_limits", "with_velocity_limit"),
        (robot, "save_srdf", "Robot.to_srdf"),
        (lw.control, "trim", "descend=False"),
        (lw.control, "c2d", "discretized"),
        (robot, "with_srdf", "use robot.with_srdf_document"),
        (lw, "mass_matrix", "use Robot.mass_matrix"),
        (robot, "null_space", r"scipy.linalg.null_space\(robot.jacobian"),
        (robot, "qvel", "a state is q and v, arguments of each function"),
        (lw.motion.TrackedPath, "min_singular_value", "manipulability"),
        (lw.motion.CartesianPath, "poses", r"path\(s\)"),
        (lw.TrajectoryProblem, "minimum_time", r"duration=\(low, high\)"),
        (lw.simulation.Simulation, "tracking_error", r"trajectory\(run.t\).q - run.q"),
        (lw.control, "sliding_mode", "docs/controllers.md"),
        (lw.simulation, "Lidar", "RangeSensor"),
        (lw.motion, "fkine", "use Robot.pose"),
        (lw.motion, "moveL", "linkwork.motion.line"),
        (robot, "PTP", "kind='trapezoid'"),
        (lw, "hand_eye", "use linkwork.identify.placements"),
        (lw, "calibration", "use linkwork.identify.placements"),
        (lw.control, "lqe", r"StateSpace.to_control .* whose lqe computes the gain of a Kalman filter"),
        (lw.control, "bode", r"StateSpace.to_control .* StateSpace.frequency_response"),
        (lw.control, "dlqr", "use linkwork.control.lqr, with discrete=True"),
        (lw.control.StateSpace, "bode", "use StateSpace.to_control, for the functions of python-control"),
        (lw.control.linear_model(robot, np.zeros(2)), "c2d", "use StateSpace.discretized"),
        (lw.control.StateSpace, "eig", "use StateSpace.poles"),
        (robot, "linear_model", r"linkwork.control.linear_model\(robot, q\)"),
        (lw.spatial, "log", "linkwork.pose_difference returns the rotation vector"),
        (lw.expr.linalg, "log", "use linkwork.expr.log"),
        (lw, "log", "linkwork.expr.log is the logarithm of a number; linkwork.pose_difference"),
        (lw.force_elements, "Cylinder", "a barrel and a rod with a prismatic joint"),
        (lw.motion, "quintic", "Robot.profile.*kind=.quintic"),
        (lw.motion, "minimum_jerk", "Robot.profile"),
        (lw.motion, "trapezoidal", "use linkwork.motion.profile"),
        (robot, "analytical_jacobian", "docs/howto.md"),
        (robot, "inverse_kinematics_all", "num_solutions=n.*closed_form is None"),
        (lw.ik.ClosedForm, "solve", "use ClosedForm.branches"),
        (lw.mechanisms.DrivenMotion, "plot_path", "plot_path.frame. draws the path"),
        (lw.mechanisms.DrivenMotion, "times", "use DrivenMotion.trajectory"),
        (robot, "grashof", "docs/mechanisms.md"),
        (lw.mechanisms.DrivenMotion, "roller_forces", "use DrivenMotion.constraint_forces"),
        (robot, "energy", r"robot.kinetic_energy\(q, v\) \+ robot.potential_energy\(q\)"),
        (robot, "symbolic", "docs/limits.md names SymPy"),
        (robot, "num_links", "use robot.links"),
        (lw.simulation.Simulation, "energy", r"simulate\(..., record=\['kinetic_energy'\]\)"),
        (lw.planning.PlanResult, "shortened", "use PlanResult.trajectory, with smooth=True"),
        (lw.mechanisms.DrivenMotion, "dead_positions", "Dead and extreme positions"),
        (lw.mechanisms.DrivenMotion, "joint_wrenches", "use DrivenMotion.reactions"),
        (lw, "from_mjcf", "linkwork.load reads URDF, MJCF"),
        (lw, "DHRobot", "use linkwork.Robot.from_dh"),
        (lw, "lod", "did you mean 'load'?"),
        (lw, "ContactGround", "module 'linkwork' has no attribute 'ContactGround'; use linkwork.simulation.Contact"),
        (lw, "ContactGrond", "did you mean linkwork.simulation.ContactGround?"),
        (lw, "PDController", "use linkwork.control.PD"),
        (lw.control, "PDController", "module 'linkwork.control' .* use linkwork.control.PD"),
        (lw.control, "Impedence", "did you mean 'Impedance'"),
        (robot, "to_latex", "docs/limits.md"),
        (robot, "natural_frequencies", r"linear_model\(robot, q\).poles\(\)"),
        (lw.constraints.Curve([0.0, 1.0], [0.0, 1.0]), "plot", "Contour of a cam"),
        (lw.mechanisms.Reactions, "torque", "use Reactions.tau"),
        (lw.control.StateSpace, "damp", r"control.damp\(model.to_control\(\)\)"),
        (lw.shapes, "HalfSpaces", "did you mean 'HalfSpace'?"),
        (lw.expr.linalg, "choleski", "did you mean 'cholesky'?"),
    ):
        with pytest.raises(AttributeError, match=said) as caught:
            getattr(owner, name)
        assert caught.value.name == name
        assert not hasattr(owner, name)
    path: Any = lw.motion.line(lw.pose(), lw.pose((1.0, 0.0, 0.0)))
    with pytest.raises(AttributeError, match=r"tracked.q, whose last one is tracked.q\[-1\]"):
        path[-1]
    assert path and np.asarray(path).shape == ()
    run = robot.simulate(np.zeros(2), duration=0.002)
    with pytest.raises(AttributeError, match=r"a Simulation has no attribute 'time'; use Simulation.t$"):
        _ = run.time
    with pytest.raises(AttributeError, match=r"a Simulation has no attribute 'tau'; .*record=\['tau'\]"):
        _ = run.tau
    with pytest.raises(ImportError, match="cannot import name 'PDController'"):
        from linkwork.control import PDController  # type: ignore[attr-defined]  # noqa: F401


def test_names_of_internal_modules_have_hints_and_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.delattr(lw.control, "mpc", raising=False)
    with pytest.raises(AttributeError, match="ModelPredictiveController is model predictive control"):
        _ = lw.control.mpc
    from linkwork.control import mpc

    assert mpc.__name__ == "linkwork.control.mpc"


def test_hints_for_foreign_names_add_no_attributes_to_objects() -> None:
    robot: Any = lw.load("double_pendulum")
    assert not hasattr(robot, "__array__") and not hasattr(lw, "__wrapped__")
    for again in (pickle.loads(pickle.dumps(robot)), copy.copy(robot), copy.deepcopy(robot)):
        assert again == robot
    assert not {"fkine", "visualize"} & {*dir(robot)} and "pose" in dir(robot)
    assert "add_box" not in dir(lw.Scene()) and "with_box" in dir(lw.Scene())
    assert lw.environments.__name__ == "linkwork.environments" and "environments" in dir(lw)


@pytest.mark.light
def test_errors_for_values_of_other_libraries_name_the_value_of_linkwork() -> None:
    robot = lw.load("double_pendulum")
    for name, method in (("ode45", "dormand_prince"), ("euler", "semi_implicit_euler"), ("ode15s", "implicit_euler")):
        with pytest.raises(lw.errors.UnknownNameError, match=f"no method of simulation named '{name}'; use '{method}'"):
            robot.simulate(robot.neutral(), duration=0.1, method=name)
    for foreign, names in foreign_names.VALUES["method of simulation"].items():
        with pytest.raises(lw.errors.UnknownNameError, match=f"named '{foreign}'; use '{names[0]}'"):
            robot.simulate(robot.neutral(), duration=0.1, method=foreign)


@pytest.mark.light
def test_errors_of_calls_in_the_words_of_textbooks_and_designers_name_the_remedy() -> None:
    robot: Any = lw.load("double_pendulum")
    joint, curve, q = lw.joints.Revolute("z"), lw.constraints.Curve, [0.0, 0.0]
    link = lw.Joint.of(joint, name="j", parent="ground", child="a")
    calls: tuple[tuple[Any, str], ...] = (
        (lambda: robot.jacobian(q, "forearm", degrees=True), r"angles are in rad: numpy.radians\(90\)"),
        (lambda: curve([0, 1], [0, 1], degrees=True), r"angles are in rad: numpy.radians\(90\)"),
        (lambda: robot.with_joint(robot.joints[0], friction=0.1), r"with_friction\(0.1\)"),
        (lambda: lw.constraints.Gear("a", "b", teeth=(20, 40)), "-z_b / z_a"),
        (lambda: robot.simulate(q, 5.0), r"pass the time \[s\] by name"),
        (lambda: lw.Robot.build("a", lw.Link("a"), link), 'parent="world" is the ground'),
        (lambda: lw.Robot.from_dh("a", [{"r": 1.0}], convention="standard"), "the length along x is a "),
        (lambda: lw.Robot.from_dh("a", [{"offset": 1.0}], convention="standard"), "the offset of an angle is theta"),
        (lambda: robot.with_loop("pin", ("forearm", (0.1, 0, 0)), "world", joint), r"robot.with_frame\(name, link"),
        (lambda: robot.with_loop("pin", "forearm", "world", "z"), "linkwork.joints.Revolute"),
        (lambda: robot.profile(q, [1, 1], velocity=1, acceleration=1, kind="cubic"), "is a cubic"),
        (lambda: lw.load("four-bar"), "use 'fourbar'"),
        (lambda: lw.load("strandbeest"), "use 'jansen_leg'"),
        (lambda: lw.load("slider_crank"), "builds a linkage from lengths"),
        (lambda: robot.profile(q, [1, 1], velocity=1, acceleration=1, kind="lspb"), "use 'trapezoid'"),
    )
    for call, remedy in calls:
        with pytest.raises((TypeError, ValueError), match=remedy):
            call()


def test_matrix_of_a_cross_product_is_that_of_its_hint() -> None:
    w, x = np.array([0.3, -0.2, 0.7]), np.array([1.0, 2.0, -0.5])
    assert "numpy.cross(numpy.eye(3), -numpy.asarray(w)).T" in REMEDIES["skew"]
    np.testing.assert_allclose(np.cross(np.eye(3), -np.asarray(w)).T @ x, np.cross(w, x))
