"""A user's script for type checkers: mypy --strict and pyright report no errors, and it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, assert_type

import numpy as np

import linkwork as lw
from linkwork.errors import ConfigurationWarning, ModelError, UnknownNameError
from linkwork.expr import cos, jacobian, sin, where
from linkwork.spatial import Motion, Vec3


class State(NamedTuple):
    """A result of one's own function: a kernel's outputs have these names."""

    q: Any
    v: Any


def load(path: str | Path) -> lw.Robot:
    try:
        return lw.load(path, floating_base=False, gravity=(0.0, 0.0, -1.62), mimic="free", continuous="angle")
    except ModelError as error:
        for issue in error.issues:
            print(issue.code, issue.message, issue.where.file, issue.where.line, issue.hint or "")
        raise


def robots() -> None:
    robot = load(lw.robots.path("arm7_gripper"))
    assert_type(robot, lw.Robot)
    q = robot.random_configuration(np.random.default_rng(0), size=(3, 4))
    v = np.zeros(robot.nv)
    tau = robot.inverse_dynamics(q, v, [0.0] * robot.nv)
    a: np.ndarray = robot.forward_dynamics(q, v, tau, out=np.empty_like(tau))
    J = robot.jacobian(q, "hand", relative_to="world", expressed_in="hand", point="tool")
    speed = robot.twist({"elbow": 0.3}, {"elbow": [1.0]}, "hand") + robot.twist(q, v, robot.frames[-1])
    print(tau.shape, a.dtype, np.linalg.norm(J), speed @ np.ones(6), robot.mass, robot.report.warnings)
    masses = {frame.name: frame.inertia.mass for frame in robot.tree.frames}
    print(max(masses.values()), [joint.name for joint in robot.joints], robot.neutral() + 1.0)
    fixed = robot.with_couplings({"right_finger_slide": ("left_finger_slide", 1.0)}).with_root("hand")
    assert_type(fixed, lw.Robot)
    robot.precompile(["mass_matrix", ("pose", "hand")], progress=False)


def building() -> None:
    def finger(side: str, y: float) -> list[lw.Link | lw.Joint]:
        hinge = lw.joints.Revolute((1, 0, 0))
        return [
            lw.Link(
                side,
                lw.shapes.Box((0.01, 0.02, 0.05)).at((0, 0, 0.025)),
                density=2700.0,
                frames={f"{side}_tip": (0, 0, 0.05)},
            ),
            lw.Joint.of(
                hinge, name=f"{side}_hinge", parent="palm", child=side, placement=(0, y, 0.1), lower=0, upper=1
            ),
        ]

    palm = lw.Link("palm", mass=0.3, com=lw.pose((0, 0, 0.05), rpy=(0, 0, 0.1)), inertia=np.diag([1e-3, 1e-3, 2e-3]))
    hand = lw.Robot.build("hand", palm, finger("left", 0.04), finger("right", -0.04), floating_base=True)
    assert_type(hand, lw.Robot)
    table: list[dict[str, Any]] = [{"a": 0.3}, {"a": 0.2, "lower": -1.0}, {"prismatic": True, "joint": "quill"}]
    scara = lw.Robot.from_dh("scara", table, convention="modified", base=lw.pose((0, 0, 0.4)), tool=(0, 0, -0.1))
    print(hand.mass, scara.pose([0.1, 0.2, 0.0], "tool"), lw.shapes.Mesh("palm.dae").at(None).origin, palm.com + 1.0)


def joints() -> None:
    robot = lw.load("arm7")
    elbow = robot.joint("elbow")
    stiff = elbow.with_damping(0.2).with_position_limits(-1.0, 1.0, dof=0).with_velocity_limit([2.0])
    robot = robot.with_joint(stiff.with_friction(0.1).with_effort_limit(np.array([10.0])))
    lower, upper = stiff.position_bounds
    direction, point, pitch = robot.joint("elbow").axes()
    motion = elbow.link_motion(0.1 * np.ones(1), [0.2], [0.3], np.eye(4), np.zeros(6), np.zeros(6))
    assert_type(motion.pose, np.ndarray)
    print(lower, upper, direction.shape, point, pitch, motion.twist, elbow.link_pose([0.1], np.eye(4)))
    joint = lw.Joint.of(lw.joints.Revolute((0, 0, 1)), name="hinge", lower=-1.0, placement=np.eye(4))
    ball = lw.Joint.of(lw.joints.Spherical(), damping=[0.1, 0.1, 0.1])
    report = lw.check_joint(joint, num_samples=2)
    print(joint.q_slice, ball.normalize_configuration([2.0, 0.0, 0.0, 0.0]), ball.regularity([1, 0, 0, 0]), report)
    print(
        joint.local_coordinates([0.1], [0.2], [0.3]).phi_dot, joint.twist([0.3], [2.0]).sum(), joint == joint.reversed()
    )


def kernels() -> None:
    robot = lw.load("arm7")
    kernel = robot.compile(["mass_matrix", "bias_force", ("jacobian", "hand", {"expressed_in": "hand"})], name="parts")
    assert_type(kernel, lw.Kernel)
    q, v = robot.neutral(), np.zeros(robot.nv)
    outputs = kernel(q, v=v)
    M, h, J = kernel(q, v)
    print(outputs.mass_matrix @ v + outputs.bias_force, M.shape, h, J.T)

    def step(x: State, u: Any) -> State:
        swing = where(u > 0.0, sin(x.q) * u, cos(x.q))
        return State(x.q + 0.01 * x.v, x.v - 0.01 * swing)

    pendulum = lw.compile(lambda q, v, u: step(State(q, v), u), name="pendulum", q=(), v=(), u=())
    state = State(0.1, 0.0)
    for _ in range(3):
        state = pendulum(state.q, state.v, 1.0)
    out = np.empty(3)
    lw.compile(lambda x: x @ x * x, x=(3,))([1.0, 2.0, 3.0], out=out)
    gradient = lw.compile(lambda x: jacobian([x @ x], x), x=3)

    @lw.compile(state=State((3,), (3,)), name="energy", mass=())
    def energy(state: State, mass: Any) -> Any:
        return 0.5 * mass * (state.v @ state.v)

    assert_type(energy, lw.Kernel)
    print(energy(State(out, out), 2.0), energy.call_python(State(out, out), mass=2.0), energy.function)
    print(lw.pose_difference(robot.pose(q, "hand"), np.eye(4)).round(3))
    lw.set_num_threads(lw.get_num_threads())
    shapes = {port.name: port.shape for port in (*kernel.inputs, *kernel.outputs)}
    print(state, out, gradient(out), shapes, kernel.operations["mul"], kernel.arithmetic, kernel.signature)
    print(kernel.compile_time > 0.0, kernel.program.name, kernel.ufunc.nin, kernel.interpret(q, v)[0])


def identification() -> None:
    robot = lw.load("double_pendulum")
    motion = lw.identify.exciting_trajectory(robot, num_trials=5, velocity=[1.0, 2.0])
    t, q, v, a = motion.sampled(100)
    tau = robot.inverse_dynamics(q, v, a)
    base = lw.identify.base_parameters(robot, q, v, a, tau, weights={robot.joints[0].name: 2.0}, held_out=[0, 1, 2])
    fit = lw.identify.inertias(robot, q, v, a, tau, bodies=["lower_rod"])
    assert_type(fit.robot, lw.Robot)
    if base.held_out is not None:
        print(base.held_out.error, base.standard_deviations, base, fit, motion.excitation.order)
    placed = lw.identify.placements(robot, q, robot.pose(q, "tip"), "tip", parameters=["base"])
    print(placed.base, placed.configuration(q).shape, t.shape, lw.identify.excitation(robot, q, v, a).unexcited)


def errors() -> None:
    robot = lw.load("double_pendulum")
    try:
        robot.pose(robot.neutral(), "tipp")
    except UnknownNameError as error:
        print(error.kind, error.name, error.known)
    try:
        robot.mass_matrix([float("nan")] * robot.nq)
    except ValueError as error:
        print(error, ConfigurationWarning.__name__)
    print(Vec3(1.0, 2.0, 3.0) + Vec3(0.0, 0.0, 1.0), Motion(Vec3(0, 0, 1), Vec3(0, 0, 0)).linear)


if __name__ == "__main__":
    robots()
    building()
    joints()
    kernels()
    identification()
    errors()
