"""Adapters for other libraries' inverse kinematics, each called as its documentation shows.

An adapter is built for an arm; ``solve(X, seed)`` returns a configuration or None, and ``settings`` describes its
options.  Raises CannotCompare if the library is not installed or does not support the arm.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

import linkwork
from benchmarks.ik.protocol import TOLERANCE, brought_in, within
from benchmarks.ik.robots import Arm
from benchmarks.peers.pinocchio_peer import CannotCompare

__all__ = ["PEERS", "Peer", "version"]


class Peer(ABC):
    """A library that solves one pose per call."""

    name, package, settings = "", "", ""
    count = 200  # most poses that it is asked

    def __init__(self, arm: Arm) -> None:
        self.arm = arm

    @abstractmethod
    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        """Return a configuration, or None."""


def module(name: str) -> Any:
    """Raises CannotCompare where it is not installed."""
    try:
        with warnings.catch_warnings(), quiet():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as error:
        raise CannotCompare(f"not installed: {error}") from None


def version(package: str) -> str:
    if package == "linkwork":
        return linkwork.__version__
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "-"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Suppress what libraries print from C."""
    sys.stdout.flush()
    saved, nowhere = [os.dup(1), os.dup(2)], os.open(os.devnull, os.O_WRONLY)
    try:
        for k in (1, 2):
            os.dup2(nowhere, k)
        yield
    finally:
        for k, file in zip((1, 2), saved, strict=True):
            os.dup2(file, k)
            os.close(file)
        os.close(nowhere)


class TracIK(Peer):
    """The bar itself: two solvers in two threads, restarts until time is up."""

    name, package, count = "TRAC-IK", "pytracik", 1000
    settings = "Speed, timeout 20 ms, epsilon 1e-5"

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        trac_ik = module("trac_ik")
        with quiet():
            self.solver = trac_ik.TracIK(arm.base, arm.tip, str(arm.file), timeout=0.02, epsilon=TOLERANCE)
        if self.solver.dof != arm.n:
            raise CannotCompare(f"reads {self.solver.dof} joints")

    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        result: np.ndarray | None = self.solver.ik(X[:3, 3], X[:3, :3], seed_jnt_values=q_init)
        return result


class RoboticsToolbox(Peer):
    """Levenberg-Marquardt in C++, restarts from random configurations."""

    name, package, count = "Robotics Toolbox", "roboticstoolbox-python", 1000
    settings = "ets.ik_LM, Chan, 30 iterations, 100 searches, tol 5e-11 (half of 1e-5 squared), joint limits"

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        toolbox = module("roboticstoolbox")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.ets = toolbox.Robot.URDF(str(arm.file)).ets(start=arm.base, end=arm.tip)
        if (
            self.ets.n != arm.n
            or np.abs(np.array(self.ets.eval(arm.middle)) - arm.reference.pose(arm.middle)).max() > 1e-9
        ):
            raise CannotCompare("reads another chain")

    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        result = self.ets.ik_LM(X, q0=q_init, ilimit=30, slimit=100, tol=0.5 * TOLERANCE**2, joint_limits=True)
        return np.asarray(result.q) if result.success else None


class PinocchioExample(Peer):
    """The loop of Pinocchio's documentation, which knows no limits; answers are turned into them where they can be."""

    name, package = "Pinocchio's example", "pin"
    settings = "CLIK, dt 0.1, damping 1e-12, 1000 iterations, eps 1e-5"

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        self.at = arm.reference

    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        at, pin = self.at, self.at.pin
        q, desired = at.pinocchio.q(q_init), pin.SE3(X)
        for _ in range(1000):
            pin.framesForwardKinematics(at.model, at.data, q)
            iMd = at.data.oMf[at.frame].actInv(desired)
            err = pin.log6(iMd).vector
            if np.linalg.norm(err) < TOLERANCE:
                return at.here(q)
            J = -pin.Jlog6(iMd.inverse()) @ pin.computeFrameJacobian(at.model, at.data, q, at.frame)
            v = -J.T @ np.linalg.solve(J @ J.T + 1e-12 * np.eye(6), err)
            q = pin.integrate(at.model, q, v * 0.1)
        return None


class Pink(Peer):
    """Velocities of a quadratic program within limits of configurations, integrated until the pose is reached.

    Damping and gains are the best of fifteen pairs that were tried on the Panda and the UR5.
    """

    name, package = "pink", "pin-pink"
    settings = (
        "FrameTask, lm_damping 1e-2, ConfigurationLimit(gain 0.5), dt 1 (Newton's steps), daqp, at most 200 steps"
    )

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        self.pink, self.at = module("pink"), arm.reference
        module("daqp")
        limits = importlib.import_module("pink.limits")
        self.limits = [limits.ConfigurationLimit(self.at.model, config_limit_gain=0.5)]
        self.task = self.pink.tasks.FrameTask(arm.tip, position_cost=1.0, orientation_cost=1.0, lm_damping=1e-2)

    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        at = self.at
        self.task.set_target(at.pin.SE3(X))
        configuration = self.pink.Configuration(at.model, at.data, at.pinocchio.q(q_init), copy_data=False)
        for _ in range(200):
            if np.abs(self.task.compute_error(configuration)).max() < 0.9 * TOLERANCE:
                return at.here(configuration.q)
            try:
                v = self.pink.solve_ik(
                    configuration, [self.task], 1.0, solver="daqp", limits=self.limits, safety_break=False
                )
            except Exception:  # its solver found nothing
                return None
            configuration.integrate_inplace(v, 1.0)
        return None


class Mink(Peer):
    """The same on MuJoCo."""

    name, package = "mink", "mink"
    settings = (
        "FrameTask, lm_damping 1e-2, ConfigurationLimit(gain 0.5), dt 1 (Newton's steps), daqp, at most 200 steps"
    )

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        self.mink, mujoco = module("mink"), module("mujoco")
        module("daqp")
        text = arm.text.replace(">", '><mujoco><compiler fusestatic="false"/></mujoco>', 1)
        model = mujoco.MjModel.from_xml_string(text)
        if model.nq != arm.n:
            raise CannotCompare(f"reads {model.nq} joints")
        self.configuration = self.mink.Configuration(model)
        self.limits = [self.mink.ConfigurationLimit(model, gain=0.5)]
        self.task = self.mink.FrameTask(arm.tip, "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-2)
        base = self.at(arm.middle)  # MuJoCo welds the base's link to its world: nothing between
        if np.abs(base - arm.reference.pose(arm.middle)).max() > 1e-6:
            raise CannotCompare("reads another chain")

    def at(self, q: np.ndarray) -> np.ndarray:
        self.configuration.update(q)
        pose: np.ndarray = self.configuration.get_transform_frame_to_world(self.arm.tip, "body").as_matrix()
        return pose

    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        configuration = self.configuration
        self.task.set_target(self.mink.SE3.from_matrix(X))
        configuration.update(q_init)
        for _ in range(200):
            if np.abs(self.task.compute_error(configuration)).max() < 0.9 * TOLERANCE:
                result: np.ndarray = configuration.q.copy()
                return result
            try:
                v = self.mink.solve_ik(configuration, [self.task], 1.0, solver="daqp", limits=self.limits)
            except Exception:  # its solver found nothing
                return None
            configuration.integrate_inplace(v, 1.0)
        return None


class SciPy(Peer):
    """SciPy's bounded least squares on residuals and Jacobians from Pinocchio, one start."""

    name, package = "SciPy least_squares", "scipy"
    settings = "trf, exact Jacobian of Pinocchio's, bounds, ftol = xtol = gtol = 1e-12, one start"

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        self.optimize, self.at = module("scipy.optimize"), arm.reference

    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        result = self.optimize.least_squares(
            self.at.residual,
            q_init,
            self.at.residual_jacobian,
            self.arm.limits,
            args=(self.at.pin.SE3(X),),
            ftol=1e-12,
            xtol=1e-12,
            gtol=1e-12,
        )
        return np.asarray(result.x)


class IKPy(Peer):
    """SciPy on its own kinematics."""

    name, package, count = "ikpy", "ikpy", 20
    settings = 'inverse_kinematics_frame, orientation_mode "all", tol 1e-12'

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        chains = module("ikpy.chain")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chain = chains.Chain.from_urdf_file(str(arm.file), base_elements=[arm.base])
            mask = [link.joint_type != "fixed" for link in chain.links]
            self.chain = chains.Chain.from_urdf_file(
                str(arm.file), base_elements=[arm.base], active_links_mask=mask, symbolic=True
            )
        self.active = np.flatnonzero(mask)
        if len(self.active) != arm.n:
            raise CannotCompare(f"reads {len(self.active)} joints")
        if np.abs(self.chain.forward_kinematics(self._full(arm.middle)) - arm.reference.pose(arm.middle)).max() > 1e-6:
            raise CannotCompare("reads another chain")

    def _full(self, q: np.ndarray) -> np.ndarray:
        full = np.zeros(len(self.chain.links))
        full[self.active] = q
        return full

    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = self.chain.inverse_kinematics_frame(
                X, initial_position=self._full(q_init), orientation_mode="all", tol=1e-12
            )
        return np.asarray(result)[self.active]


class EAIK(Peer):
    """Closed form of six-axis arms: of its branches the nearest to the seed that is within limits."""

    name, package, count = "EAIK", "EAIK", 1000
    settings = "UrdfRobot.IK, all branches, the nearest within limits"

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        if arm.n != 6:
            raise CannotCompare("six-axis arms only")
        reader = module("eaik.IK_URDF")
        with quiet():
            self.robot = reader.UrdfRobot(str(arm.file))
        if not self.robot.hasKnownDecomposition():
            raise CannotCompare("knows no decomposition of this arm")
        self.tool = np.linalg.inv(self.robot.fwdKin(np.zeros(6))) @ arm.reference.pose(np.zeros(6))
        self.less = np.linalg.inv(self.tool)

    def branches(self, X: np.ndarray) -> np.ndarray:
        """Return all exact solutions (count, 6), without least-squares solutions."""
        result = self.robot.IK(X @ self.less)
        Q, rough = np.asarray(result.Q).reshape(-1, 6), np.asarray(result.is_LS, bool)
        return Q[~rough] if len(rough) == len(Q) else Q

    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        Q = self.branches(X)
        return nearest(self.arm, Q, q_init)


class SSIK(Peer):
    """Closed form of six- and seven-axis arms."""

    name, package = "ssik", "ssik"
    settings = "Manipulator.solve, max_solutions 1, nearest to the seed, within limits"

    def __init__(self, arm: Arm) -> None:
        super().__init__(arm)
        ssik = module("ssik")
        try:
            with warnings.catch_warnings(), quiet():
                warnings.simplefilter("ignore")
                self.robot = ssik.Manipulator.from_urdf(str(arm.file), base=arm.base, ee=arm.tip)
        except Exception as error:
            raise CannotCompare(f"does not take this arm: {error}") from None

    def solve(self, X: np.ndarray, q_init: np.ndarray) -> np.ndarray | None:
        solution = self.robot.solve(X, q_seed=q_init, max_solutions=1)
        return np.asarray(solution[0].q) if solution else None


def nearest(arm: Arm, Q: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
    """Return the configuration of Q (count, n) nearest to the seed, after shifts by full revolutions into limits."""
    Q = brought_in(arm, Q)
    Q = Q[within(arm, Q)]
    return Q[np.abs(Q - seed).max(axis=1).argmin()] if len(Q) else None


PEERS: tuple[type[Peer], ...] = (TracIK, RoboticsToolbox, EAIK, SSIK, Pink, Mink, PinocchioExample, SciPy, IKPy)
