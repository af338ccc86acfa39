"""Requests of points and directions: names, lists of names, arrays, batches, symbols and kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.trace.trace import trace
from linkwork.errors import UnknownNameError
from linkwork.kernels.function_request import read_request
from linkwork.robot.robot_table import robot_owner

ARM = (
    lw.load("arm7")
    .with_frame("camera", "hand", lw.pose((0.1, 0, 0.2), rpy=(0.3, 0.2, 0.1)))
    .with_point("tip", "hand", (0, 0, 0.1))
    .with_point("elbow_point", "forearm_proximal", (0.1, 0, 0))
    .with_direction("approach", "hand", (0, 1, 1))
)
Q = ARM.random_configuration(seed=0, size=4)
V, A = np.random.default_rng(0).normal(size=(2, 4, ARM.nv))
FRAMES = ["hand", "camera", "hand", "wrist", "world"]
POSITIONS = np.random.default_rng(1).normal(size=(5, 3))


def by_hand(q: np.ndarray, frame: str, r: Any) -> np.ndarray:
    X = ARM.pose(q, frame)
    return (X[..., :3, :3] @ np.asarray(r)[..., None])[..., 0] + X[..., :3, 3]


@pytest.mark.slow(every=3)
def test_points_of_point_position_are_selected_by_a_name_or_a_list_of_names() -> None:
    position = ARM.point_position(Q, "tip")
    assert position.shape == (4, 3)
    assert np.allclose(position, by_hand(Q, "hand", [0, 0, 0.1]), atol=1e-15)
    for names in (["tip", "elbow_point", "hand"], ("tip", "elbow_point", "hand")):
        for _ in range(2):  # the second call finds its kernel
            positions = ARM.point_position(Q, names)
            assert positions.shape == (4, 3, 3)
            assert np.allclose(positions[:, 0], position, atol=1e-15)
            assert np.allclose(positions[:, 2], ARM.pose(Q, "hand")[:, :3, 3], atol=1e-15)
    assert ARM.point_jacobian(Q[0], ["tip", "tip"]).shape == (2, 3, 7)
    assert ARM.point_jacobian(Q[0], ["tip"]).shape == (1, 3, 7)
    assert ARM.point_position(Q, []).shape == (4, 0, 3)
    assert ARM.direction_vector({"elbow": -1.0}, ["approach", "hand.x"]).shape == (2, 3)
    kernels = {id(call) for call in ARM._calls.values()}
    ARM.point_position(Q, ["tip", "elbow_point", "hand"])
    assert {id(call) for call in ARM._calls.values()} == kernels


def test_positions_of_points_on_a_frame_may_be_passed_as_arrays() -> None:
    position = ARM.point_position(Q, "hand", positions=[0, 0, 0.1])
    assert np.allclose(position, ARM.point_position(Q, "tip"), atol=1e-15)
    many = ARM.point_position(Q, FRAMES, positions=POSITIONS)
    expected = np.stack([by_hand(Q, frame, r) for frame, r in zip(FRAMES, POSITIONS, strict=True)], axis=1)
    assert many.shape == (4, 5, 3) and np.allclose(many, expected, atol=1e-14)
    moving = np.linspace(1.0, 2.0, 4)[:, None, None] * POSITIONS  # another place in each sample
    batch = ARM.point_position(Q, FRAMES, positions=moving)
    rows = [ARM.point_position(q, FRAMES, positions=r) for q, r in zip(Q, moving, strict=True)]
    assert np.allclose(batch, rows, rtol=0, atol=1e-15)
    assert ARM.point_position(Q[0], FRAMES, positions=moving).shape == (4, 5, 3)
    assert ARM.point_position(Q[:, None], FRAMES, positions=moving).shape == (4, 4, 5, 3)
    assert ARM.point_velocity(Q, V, "hand", positions=POSITIONS[:, None]).shape == (5, 4, 3)
    into = np.full((4, 5, 3), np.nan)
    assert ARM.point_position(Q, FRAMES, positions=POSITIONS, out=into) is into and np.array_equal(into, many)
    view = {"relative_to": "wrist", "expressed_in": "camera"}
    turned = ARM.direction_velocity(Q, V, FRAMES, vectors=POSITIONS, **view)
    w = ARM.twist(Q, V, "hand", **view)[:, :3]
    u = ARM.direction_vector(Q, FRAMES, vectors=POSITIONS, expressed_in="camera")
    assert np.allclose(turned[:, 0], np.cross(w, u[:, 0]), atol=1e-14)
    J = ARM.direction_jacobian(Q, FRAMES, vectors=POSITIONS, **view)
    assert np.allclose(np.einsum("nkij,nj->nki", J, V), turned, atol=1e-14)


def test_kernels_of_points_have_named_inputs_and_results() -> None:
    kernel = ARM.compile(("point_position", FRAMES, {"positions": True}))
    assert [(port.name, port.shape) for port in kernel.inputs] == [("q", (7,)), ("positions", (5, 3))]
    assert np.array_equal(kernel(Q, POSITIONS), ARM.point_position(Q, FRAMES, positions=POSITIONS))
    assert np.array_equal(
        ARM.compile(("point_jacobian", ["tip", "camera"], {"expressed_in": "hand"}))(Q),
        ARM.point_jacobian(Q, ["tip", "camera"], expressed_in="hand"),
    )
    both = ARM.compile([("point_position", "tip"), ("point_position", "camera"), ("point_velocity", ["tip"])])
    result = both(Q, V)
    assert result._fields == ("point_position_tip", "point_position_camera", "point_velocity")
    assert result.point_velocity.shape == (4, 1, 3)
    with pytest.raises(ValueError, match="positions has a different size in each function"):
        ARM.compile(
            [("point_position", ["hand"], {"positions": True}), ("point_velocity", FRAMES, {"positions": True})]
        )
    ARM.precompile([("direction_acceleration", ["approach", "hand.z"], {"relative_to": "wrist"})], progress=False)


def test_point_methods_in_traced_functions_record_the_kernels_program() -> None:
    """Derivatives by positions are right, too."""

    def traced_points(q: Any, positions: Any) -> Any:
        return ARM.point_position(q, FRAMES, positions=positions)

    traced = trace(traced_points, "f", {"q": 7, "positions": (5, 3)})
    program = ARM.compile(("point_position", FRAMES, {"positions": True})).program
    assert traced.arithmetic == program.arithmetic
    result = lw.compile(traced_points, q=7, positions=(5, 3))(Q, POSITIONS)
    assert np.allclose(result, ARM.point_position(Q, FRAMES, positions=POSITIONS), rtol=0, atol=1e-15)
    mixed = lw.compile(lambda q: ARM.point_acceleration(q, V[0], A[0], FRAMES, positions=POSITIONS), q=7)
    acceleration = ARM.point_acceleration(Q, V[0], A[0], FRAMES, positions=POSITIONS)
    assert np.allclose(mixed(Q), acceleration, rtol=0, atol=1e-13)
    names = lw.compile(lambda q: ARM.point_jacobian(q, ["tip", "camera"]), q=7)
    assert np.allclose(names(Q), ARM.point_jacobian(Q, ["tip", "camera"]), rtol=0, atol=1e-15)


def test_machine_code_depends_on_placements_of_requested_markers_only() -> None:
    """Robots that differ in the placement of a frame, a point or a direction have different code."""

    def content(robot: lw.Robot, marker_function: Any) -> Any:
        request = read_request(robot_owner(robot.tree), marker_function)
        return robot_owner(robot.tree).content([request.spec], request.options)

    plain = lw.load("arm7")
    for marker_function, edited in (
        (("direction_vector", "lens.z"), lambda r, x: r.with_frame("lens", "hand", lw.pose(rpy=(x, 0, 0)))),
        (("direction_vector", ["hand.x", "lens.z"]), lambda r, x: r.with_frame("lens", "hand", lw.pose(rpy=(x, 0, 0)))),
        (("point_position", "p"), lambda r, x: r.with_point("p", "hand", (x, 0, 0))),
        (("point_position", "p"), lambda r, x: r.with_frame("f", "hand", (x, 0, 0)).with_point("p", "f")),
        (("direction_vector", "u"), lambda r, x: r.with_direction("u", "hand", (x, 1, 0))),
        (("pose", "f"), lambda r, x: r.with_frame("f", "hand", (x, 0, 0))),
    ):
        near, same, far = (content(edited(plain, x), marker_function) for x in (0.1, 0.1, 0.2))
        assert near == same != far, marker_function
    unasked = content(plain.with_point("p", "hand"), ("point_position", "hand"))
    assert unasked == content(plain, ("point_position", "hand"))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: ARM.point_position(Q, "tipp"), UnknownNameError, "no frame or point named 'tipp'; did you mean 'tip'"),
        (
            lambda: ARM.point_position(Q, ["tip", "hnd"]),
            UnknownNameError,
            "no frame or point named 'hnd'; did you mean 'hand'",
        ),
        (lambda: ARM.point_position(Q, 3), UnknownNameError, "no frame or point named 3"),
        (lambda: ARM.point_position(Q, ["tip", 3]), UnknownNameError, "no frame or point named 3"),
        (
            lambda: ARM.point_position(Q, "tip", positions=np.zeros(3)),
            UnknownNameError,
            "it is a point in frame 'hand'",
        ),
        (lambda: ARM.direction_vector(Q, "hand"), UnknownNameError, "axes of a frame are hand.x, hand.y, hand.z"),
        (lambda: ARM.direction_vector(Q, "hnd.z"), UnknownNameError, "no frame named 'hnd'"),
        (lambda: ARM.direction_vector(Q, "hand.z", vectors=np.ones(3)), UnknownNameError, "no frame named 'hand.z'"),
        (lambda: lw.load("arm7").point_position(Q, "x"), UnknownNameError, "Robot.with_point adds one"),
        (lambda: ARM.point_position(Q, np.zeros(3)), TypeError, "expected a point's name or a list of them"),
        (lambda: ARM.point_position(Q, FRAMES, positions=np.zeros((4, 3))), ValueError, r"shape \(..., 5, 3\)"),
        (lambda: ARM.point_position(Q, "hand", positions=np.zeros(2)), ValueError, r"shape \(..., 3\)"),
        (lambda: ARM.point_position(Q, "hand", positions=[0, 0, np.nan]), ValueError, r"positions\[2\] is NaN"),
        (lambda: ARM.point_position(Q, "hand", positions="abc"), ValueError, "positions of points"),
        (lambda: ARM.point_position(Q, FRAMES, positions=np.zeros((3, 5, 3))), ValueError, "do not broadcast"),
        (lambda: ARM.point_velocity(Q, V, "tip", relative_to="x"), UnknownNameError, "no frame named 'x'"),
        (lambda: ARM.compile("point_position"), TypeError, "points"),
        (lambda: ARM.point_position(Q, "tip", vectors=np.ones(3)), TypeError, "no option named 'vectors'"),
    ],
)
def test_unknown_points_and_wrong_positions_are_refused(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.slow(every=5)
def test_thousand_markers_are_computed_by_one_small_kernel() -> None:
    """The cost grows with the number of markers, and not with the number of bodies."""
    robot = lw.load("humanoid", floating_base=True)
    frames = [robot.bodies[k % len(robot.bodies)] for k in range(1000)]
    kernel = robot.compile(("point_position", frames, {"positions": True}))
    few = robot.compile(("point_position", [*robot.bodies], {"positions": True}))
    assert kernel.arithmetic - few.arithmetic == 18 * (1000 - len(robot.bodies))
    q, r = robot.random_configuration(seed=0), np.random.default_rng(0).normal(size=(1000, 3))
    X = dict(zip(robot.bodies, robot.forward_kinematics(q), strict=True))
    expected = [X[name][:3, :3] @ x + X[name][:3, 3] for name, x in zip(frames, r, strict=True)]
    assert np.allclose(kernel(q, r), expected, rtol=0, atol=1e-13)
