"""Mechanisms that are measured, as linkwork and as Pinocchio have them."""

from __future__ import annotations

import importlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.peers.pinocchio_peer import CannotCompare, PinocchioModel
from linkwork.cli.function_timings import Call
from linkwork.joints import Fixed, Revolute

__all__ = ["FrameConstraint", "Mechanism", "Peer", "fixed_feet_humanoid", "four_bar", "four_bars", "side_by_side"]

FEET = ("left_foot", "right_foot")
STIFF = ("head", "neck_yaw", "neck_pitch", "waist_yaw")  # joints that are fixed, so that 34 degrees of freedom are left
HINGE = Revolute((0.0, 1.0, 0.0))
_TIP = lw.pose((1.0, 0.0, 0.0))


@dataclass(frozen=True)
class FrameConstraint:
    """A constraint in Pinocchio: two frames, and whether their orientations are constrained, too."""

    frame: str
    frame_b: str
    axes: bool


@dataclass(frozen=True)
class Mechanism:
    """A robot with constraints, and a state in which these hold."""

    name: str
    robot: lw.Robot
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    text: str  # URDF
    constraints: tuple[FrameConstraint, ...]

    def batch(self, size: int) -> tuple[np.ndarray, ...]:
        """States about it: joint forces differ."""
        rng = np.random.default_rng(0)
        q, v = (np.tile(x, (size, 1)) for x in (self.q, self.v))
        return q, v, rng.normal(size=(size, self.robot.nv))

    def peer(self) -> Peer:
        """Raises CannotCompare where Pinocchio is not installed."""
        return Peer(self)


class Peer:
    """Pinocchio's constrained dynamics of a mechanism."""

    def __init__(self, mechanism: Mechanism) -> None:
        tree = mechanism.robot.without_constraints()
        self.pinocchio = PinocchioModel(tree, mechanism.text)
        pin: Any = importlib.import_module("pinocchio")
        if not hasattr(pin, "lcaba"):
            raise CannotCompare("this Pinocchio has no lcaba")
        self.pin, self.model, self.data = pin, self.pinocchio.model, self.pinocchio.data
        self.models, self.datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for constraint in mechanism.constraints:
            ends = [end for name in (constraint.frame, constraint.frame_b) for end in self._end(mechanism.robot, name)]
            kind = pin.ContactType.CONTACT_6D if constraint.axes else pin.ContactType.CONTACT_3D
            self.models.append(pin.RigidConstraintModel(kind, self.model, *ends, pin.ReferenceFrame.LOCAL))
        for model in self.models:
            self.datas.append(model.createData())
        pin.computeJointMinimalOrdering(self.model, self.data, self.models)
        pin.initConstraintDynamics(self.model, self.data, self.models, self.datas)
        self.settings = {  # accuracy, μ, steps: what each needs to be right here
            "constraintDynamics": pin.ProximalSettings(1e-12, 1e-8, 20),
            "lcaba": pin.ProximalSettings(1e-10, 1e-6, 20),
        }

    def _end(self, robot: lw.Robot, name: str) -> tuple[int, Any]:
        """Return the parent joint of a frame, and the frame's placement in it."""
        frame = robot.tree.frame(name)
        matrix = np.array(frame.placement.elements()).reshape(4, 4)
        joint = 0 if frame.body < 0 else self.model.getJointId(_joint_there(robot.tree.bodies[frame.body].joint_name))
        return joint, self.pin.SE3(matrix)

    def state(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
        """Ours as theirs, for one state."""
        at = self.pinocchio.q(q[None])
        return at[0], self.pinocchio.v(v[None])[0], self.pinocchio.v(tau[None])[0]

    def accelerations(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, method: str) -> np.ndarray:
        """Theirs as ours."""
        function = getattr(self.pin, method)
        a = function(self.model, self.data, *self.state(q, v, tau), self.models, self.datas, self.settings[method])
        return self.pinocchio.ours(np.array(a)[None])[0]

    def call(self, method: str, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Call:
        """One call, of ``constraintDynamics`` or ``lcaba``."""
        at, vt, taut = self.state(q, v, tau)
        names = {"f": getattr(self.pin, method), "m": self.model, "d": self.data, "q": at, "v": vt, "tau": taut}
        names |= {"cm": self.models, "cd": self.datas, "s": self.settings[method]}
        return Call("f(m, d, q, v, tau, cm, cd, s)", names)

    def derivatives(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Call:
        """Accelerations and their derivatives, which Pinocchio computes one after the other."""
        call = self.call("constraintDynamics", q, v, tau)
        names = {**call.names, "g": self.pin.computeConstraintDynamicsDerivatives}
        return Call(f"{call.statement}; g(m, d, cm, cd, s)", names)


def _joint_there(name: str) -> str:
    return "root_joint" if name == "floating_base" else name


def four_bars(count: int) -> lw.Robot:
    """Four-bars side by side that share rods, of 1 m and 1 kg each, their loops closed by hinges."""
    parts: list[Any] = []
    for i in range(count + 1):
        position = lw.pose((float(i), 0.0, 0.0))
        parts += [
            _rod(f"rod{i}"),
            lw.Joint.of(HINGE, name=f"A{i}", parent="world", child=f"rod{i}", placement=position),
        ]
    for i in range(1, count + 1):
        at = {"parent": f"rod{i - 1}", "child": f"coupler{i}", "placement": _TIP}
        parts += [_rod(f"coupler{i}"), lw.Joint.of(HINGE, name=f"B{i}", **at)]
    robot = lw.Robot.build(f"{count} four-bars", *parts)
    for i in range(1, count + 1):
        robot = robot.with_frame(f"end{i}", f"coupler{i}", _TIP).with_frame(f"tip{i}", f"rod{i}", _TIP)
        robot = robot.with_loop(f"C{i}", f"end{i}", f"tip{i}", HINGE)
    return robot


def _rod(name: str) -> lw.Link:
    return lw.Link(name, mass=1.0, com=(0.5, 0, 0), inertia=(1e-4, 1 / 12, 1 / 12))


def side_by_side(robot: lw.Robot, angle: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """A state of four-bars in which all rods have one angle above the ground."""
    signs = np.array([-1.0 if joint.name[0] == "A" else 1.0 for joint in robot.joints])
    return signs * angle, signs * rate


def four_bar() -> Mechanism:
    """Return a four-bar; Pinocchio's model has a point constraint."""
    robot = four_bars(1)
    q, v = side_by_side(robot, 1.1, 0.7)
    tau = np.array([0.3, -0.2, 0.1])
    return Mechanism("four-bar", robot, q, v, tau, _four_bar_text(), (FrameConstraint("end1", "tip1", False),))


def _four_bar_text() -> str:
    inertial = (
        '<inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
        f'<inertia ixx="1e-4" iyy="{1 / 12!r}" izz="{1 / 12!r}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in ("rod0", "rod1", "coupler1"))
    joints = "".join(
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} 0 0"/><axis xyz="0 1 0"/>'
        '<limit lower="-10" upper="10" effort="1" velocity="1"/></joint>'
        for name, parent, child, x in (
            ("A0", "world", "rod0", 0),
            ("A1", "world", "rod1", 1),
            ("B1", "rod0", "coupler1", 1),
        )
    )
    return f'<robot name="fourbar"><link name="world"/>{links}{joints}</robot>'


def fixed_feet_humanoid() -> Mechanism:
    """Return a humanoid with 34 degrees of freedom and both feet fixed: twelve constraint equations."""
    text = Path(str(lw.load("humanoid").tree.source)).read_text(encoding="utf-8")
    free = lw.load("humanoid", floating_base=True)
    stiff = [joint.name for joint in free.joints if joint.name in STIFF][: free.nv - 34]
    for name in stiff:
        text = text.replace(f'<joint name="{name}" type="revolute">', f'<joint name="{name}" type="fixed">')
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "humanoid34.urdf"
        file.write_text(text, encoding="utf-8")
        robot = lw.load(file, floating_base=True)
    rng = np.random.default_rng(0)
    q = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv))
    for foot in FEET:
        robot = robot.with_frame(f"{foot}_place", "world", robot.pose(q, foot))
    for foot in FEET:
        robot = robot.with_loop(f"{foot}_held", f"{foot}_place", foot, Fixed())
    G = robot.constraint_jacobian(q)
    v = rng.normal(size=robot.nv)
    v -= np.linalg.pinv(G) @ (G @ v)
    tau = rng.normal(size=robot.nv)
    return Mechanism(
        "humanoid, both feet held",
        robot,
        q,
        v,
        tau,
        text,
        tuple(FrameConstraint(foot, f"{foot}_place", True) for foot in FEET),
    )
