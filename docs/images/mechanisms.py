"""Pictures of the mechanisms that ship inside, in motion: what `draw.py` draws of them."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw

GREY, RED, BLUE, LIGHT = "#444444", "#d1495b", "#00798c", "#d8d8d8"


def fourbar() -> Any:
    """The bars in a dozen positions, the path of the coupler's middle, and the rocker's angle over the turn."""
    robot = lw.load("fourbar").with_frame("middle", "coupler", (0.2, 0, 0.25))
    crank = np.linspace(0.0, 2 * np.pi, 145)
    q = robot.drive_mechanism({"crank_hinge": crank}).q
    points = [robot.pose(q, name)[:, :3, 3] for name in ("crank", "coupler", "coupler_tip", "rocker")]
    path = robot.pose(q, "middle")[:, :3, 3]
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9), layout="constrained", width_ratios=(1.1, 1))
    for i in range(0, 144, 12):
        bars = np.array([x[i] for x in points])
        left.plot(bars[:, 0], bars[:, 2], "-", color=LIGHT if i else GREY, zorder=3 if i == 0 else 1, linewidth=1.4)
    left.plot(path[:, 0], path[:, 2], color=RED)
    left.plot([0, 0.4], [0, 0], "o", color=GREY, markersize=4)
    left.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
    right.plot(np.rad2deg(crank), np.rad2deg(q[:, robot.q_index(["rocker_hinge"])[0]]), color=BLUE)
    right.set(xlabel="crank [°]", ylabel="rocker [°]", xticks=range(0, 361, 90))
    return figure


def projected(x: np.ndarray, turn: float = -0.6, tilt: float = 0.3) -> np.ndarray:
    """Coordinates of points (..., 3) on a picture, seen from the side and a little from above."""
    c, s = np.cos(turn), np.sin(turn)
    right, away = c * x[..., 0] + s * x[..., 1], -s * x[..., 0] + c * x[..., 1]
    return np.stack([right, np.cos(tilt) * x[..., 2] + np.sin(tilt) * away], axis=-1)


def line(axis: Any, *points: np.ndarray, **style: Any) -> None:
    """Draw a line through points in space."""
    axis.plot(*projected(np.array(points)).T, **style)


def origins(robot: Any, q: np.ndarray, *names: str) -> list[np.ndarray]:
    return [robot.pose(q, name)[..., :3, 3] for name in names]


def delta() -> Any:
    """The robot on a circle, and its shoulders' angles on the way."""
    robot = lw.load("delta")
    t = np.linspace(0.0, 2 * np.pi, 73)
    q0 = np.tile(robot.neutral(), (73, 1))
    q0[:, 4], q0[:, 5], q0[:, 6] = 0.15 * np.cos(t), 0.15 * np.sin(t), 0.03 * np.sin(2 * t)
    q = robot.assemble(q0, hold={"carried": q0[:, :7]}).q
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.2), layout="constrained", width_ratios=(1, 1.1))
    for i, strong in ((36, False), (8, True)):
        style: dict[str, Any] = {"color": GREY if strong else LIGHT, "zorder": 3 if strong else 1}
        sockets: list[np.ndarray] = []
        shoulders = origins(robot, q[i], *[f"upper_arm_{arm}" for arm in "123"])
        line(left, *shoulders, shoulders[0], color=GREY, linewidth=1.6)
        for arm in "123":
            base, *ends = origins(robot, q[i], f"upper_arm_{arm}", f"rod_{arm}a", f"rod_{arm}b")
            line(left, base, (ends[0] + ends[1]) / 2, **(style | {"color": BLUE if strong else LIGHT}), linewidth=2.2)
            for rod, start in zip("ba", ends[::-1], strict=True):
                (socket,) = origins(robot, q[i], f"socket_{arm}{rod}")
                line(left, start, socket, **style)
                sockets.append(socket)
            line(left, *ends, **style)
        line(left, *sockets, sockets[0], **style, linewidth=1.6)
    left.plot(*projected(robot.pose(q, "platform")[:, :3, 3]).T, color=RED)
    left.set_aspect("equal")
    left.axis("off")
    for arm, color in zip("123", (GREY, RED, BLUE), strict=True):
        angle = q[:, robot.q_index([f"shoulder_{arm}"])[0]]
        right.plot(np.rad2deg(t), np.rad2deg(angle), color=color, label=f"shoulder_{arm}")
    right.set(xlabel="on the circle [°]", ylabel="shoulder [°]", xticks=range(0, 361, 90))
    right.legend(frameon=False)
    return figure


def stewart() -> Any:
    """The platform tilted round, and the six legs' lengths."""
    robot = lw.load("stewart")
    t = np.linspace(0.0, 2 * np.pi, 73)
    q0 = np.tile(robot.neutral(), (73, 1))
    half = 0.1
    q0[:, 0], q0[:, 1], q0[:, 2] = np.cos(half), np.sin(half) * np.cos(t), np.sin(half) * np.sin(t)
    q = robot.assemble(q0, hold={"carried": q0[:, :7]}).q
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.0), layout="constrained", width_ratios=(1, 1.1))
    for i, strong in ((30, False), (0, True)):
        style: dict[str, Any] = {"color": GREY if strong else LIGHT, "zorder": 3 if strong else 1}
        feet = origins(robot, q[i], *[f"cylinder_{k}" for k in range(1, 7)])
        heads = origins(robot, q[i], *[f"socket_{k}" for k in range(1, 7)])
        for foot, head in zip(feet, heads, strict=True):
            line(left, foot, head, **(style | {"color": BLUE if strong else LIGHT}), linewidth=1.8)
        line(left, *feet, feet[0], **style)
        line(left, *heads, heads[0], **style, linewidth=1.6)
    left.set_aspect("equal")
    left.axis("off")
    right.plot(np.rad2deg(t), 1e3 * q[:, robot.q_index([f"leg_{k}" for k in range(1, 7)])])
    right.set(xlabel="direction of the tilt [°]", ylabel="legs [mm]", xticks=range(0, 361, 90))
    return figure


def leg() -> Any:
    """The leg from the side, the knee and the hip bending: the ankle follows."""
    robot = lw.load("leg")
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.4), layout="constrained", width_ratios=(1, 1.2))
    knee = np.linspace(-0.7, 0.7, 45)
    locked = ("hip_roll", "hip_yaw", "shin_spring", "heel", "foot_motor")
    q = robot.drive_mechanism({**dict.fromkeys(locked, 0.0 * knee), "knee": knee, "hip_pitch": -0.5 * knee}).q
    for i in (0, 22, 44):
        strong = i == 22
        bones = origins(robot, q[i], "thigh", "shin_root", "shin", "tarsus", "foot", "sole")
        rods = [
            origins(robot, q[i], *names)
            for names in (("achilles_rod", "achilles_end", "heel_spring"), ("foot_crank", "plantar_rod", "plantar_end"))
        ]
        left.plot(*np.array(bones)[:, [0, 2]].T, color=BLUE if strong else LIGHT, linewidth=2.4, zorder=2 + strong)
        for rod in rods:
            left.plot(*np.array(rod)[:, [0, 2]].T, color=RED if strong else LIGHT, zorder=2 + strong)
    left.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
    for name, color in (("ankle", BLUE), ("achilles_pitch", RED), ("toe", GREY)):
        right.plot(np.rad2deg(knee), np.rad2deg(q[:, robot.q_index([name])[0]]), color=color, label=name)
    right.set(xlabel="knee [°]", ylabel="what follows [°]")
    right.legend(frameon=False)
    return figure


def moved(robot: Any, q: np.ndarray, v: np.ndarray, tau: Any, h: float, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """States of a motion, by a method of the second order; joint forces are a function of the state's number."""
    states = [(q, v)]
    for i in range(steps):
        a = robot.forward_dynamics(q, v, tau(i))
        middle, faster = robot.integrate(q, h / 2 * v), v + h / 2 * a
        a = robot.forward_dynamics(middle, faster, tau(i))
        q, v = robot.integrate(q, h * faster), v + h * a
        states.append((q, v))
    return np.array([q for q, _ in states]), np.array([v for _, v in states])


def differential_drive() -> Any:
    """The base from above: driven forwards, then round, then back, the castor swinging behind it."""
    robot = lw.load("differential_drive")
    left_wheel, right_wheel = robot.v_index(["left", "right"])

    def torque(i: int) -> np.ndarray:
        tau = np.zeros(robot.nv)
        tau[left_wheel], tau[right_wheel] = (0.3, 0.3) if i < 100 else (-0.1, 0.2) if i < 240 else (-0.1, -0.1)
        return tau

    q, _ = moved(robot, robot.neutral(), np.zeros(robot.nv), torque, 0.01, 420)
    figure, axis = plt.subplots(figsize=(7.2, 3.0), layout="constrained")
    centre, pivot, castor = origins(robot, q, "chassis", "fork", "castor_wheel")
    axis.plot(centre[:, 0], centre[:, 1], color=RED)
    axis.plot(castor[:, 0], castor[:, 1], color=BLUE, linewidth=0.8)
    for i in (0, 110, 180, 250, 340, 420):
        X = robot.pose(q[i], "chassis")
        for name, half in (("left_wheel", 0.1), ("right_wheel", 0.1)):
            center = robot.pose(q[i], name)[:3, 3]
            ends = center + np.outer([-half, half], X[:3, 0])
            axis.plot(ends[:, 0], ends[:, 1], color=GREY, linewidth=2.4)
        body = np.array([[-0.33, -0.15], [0.17, -0.15], [0.17, 0.15], [-0.33, 0.15], [-0.33, -0.15]])
        corners = body @ X[:2, :2].T + X[:2, 3]
        axis.plot(corners[:, 0], corners[:, 1], color=GREY, linewidth=0.8)
        axis.plot([pivot[i, 0], castor[i, 0]], [pivot[i, 1], castor[i, 1]], color=BLUE, linewidth=1.6)
    axis.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    return figure


def bicycle() -> Any:
    """Eigenvalues of the upright motion by its speed, and what becomes of a push at 5 m/s."""
    robot = lw.load("bicycle")
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.9), layout="constrained")
    speeds = ["drifting.wx", "steer", "rear_axle"]
    minimal = robot.minimal_coordinates(q=robot.neutral(), speeds=speeds)
    y = minimal.coordinates_of(robot.neutral())
    forwards, roots = np.linspace(0.0, 10.0, 201), []
    for speed in forwards:
        A, _ = minimal.linearize(y, [0.0, 0.0, speed / 0.3], near=robot.neutral())
        roots.append([x for x in np.linalg.eigvals(A) if abs(x) > 1e-6])
    for speed, values in zip(forwards, roots, strict=True):
        real = np.array([x.real for x in values])
        colors = [RED if abs(x.imag) > 1e-6 else BLUE for x in values]
        left.scatter(np.full(len(real), speed), real, s=1.5, c=colors, linewidths=0)
    left.axvspan(4.29238, 6.02426, color="#eeeeee", zorder=0)
    left.axhline(0.0, color="#bbbbbb", linewidth=0.8, zorder=0)
    left.set(xlabel="speed [m/s]", ylabel="real parts [1/s]", ylim=(-10, 6))
    pushed = np.zeros(robot.nv)
    pushed[robot.v_index(speeds)] = 0.2, 0.0, 5.0 / 0.3
    v = robot.explicit_velocity(robot.neutral(), pushed, speeds)
    q, _ = moved(robot, robot.neutral(), v, lambda i: np.zeros(9), 0.005, 1000)
    t = 0.005 * np.arange(1001)
    right.plot(t, np.rad2deg(np.arcsin(robot.pose(q, "rear_frame")[:, 2, 1])), color=RED, label="lean")
    right.plot(t, np.rad2deg(q[:, robot.q_index(["steer"])[0]]), color=BLUE, label="steer")
    right.set(xlabel="time [s]", ylabel="[°]")
    right.legend(frameon=False)
    return figure


def jansen_leg() -> Any:
    """Return the leg where its toe is lowest, and the path of the toe."""
    robot = lw.load("jansen_leg").with_frame("pin", "crank", (0.15, 0, 0))
    crank = np.linspace(0.0, -2 * np.pi, 181)
    q = robot.drive_mechanism({"crank_hinge": crank}).q
    toe = robot.pose(q, "toe")[:, :3, 3]
    names = ("crank", "pin", "upper_triangle", "upper_corner", "coupler", "knee", "heel", "toe")
    lowest = int(toe[:, 2].argmin())
    at = {name: robot.pose(q[lowest], name)[[0, 2], 3] for name in names}
    bars = (("crank", "pin"), ("pin", "upper_corner"), ("pin", "knee"), ("upper_triangle", "knee"), ("coupler", "heel"))
    triangles = (("upper_triangle", "upper_corner", "coupler"), ("knee", "heel", "toe"))
    figure, axis = plt.subplots(figsize=(4.2, 4.2), layout="constrained")
    for corners in triangles:
        axis.fill(*np.array([at[name] for name in corners]).T, facecolor=LIGHT, edgecolor=GREY, linewidth=1.4)
    for ends in bars:
        axis.plot(*np.array([at[name] for name in ends]).T, "-", color=GREY, linewidth=1.4)
    axis.plot(toe[:, 0], toe[:, 2], color=RED)
    axis.plot(*np.array([at["crank"], at["upper_triangle"]]).T, "o", color=BLUE, markersize=4)
    axis.set(aspect="equal", xlabel="x [m]", ylabel="z [m]")
    return figure


ALL = (fourbar, delta, stewart, leg, differential_drive, bicycle, jansen_leg)
