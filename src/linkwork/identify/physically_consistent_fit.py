"""Fit of physically consistent inertias to measured joint forces, and the robot with the result.

With the measurements as a triangle R_i for each joint force (`linear_least_squares`), all π of bodies by their
log-Cholesky factors and joints' parameters y that are not negative, the estimate minimises

    Σ_i |R_i (π; y; −1)|² / (2 σ_i²) + Σ D(P, P_0) / s²

with σ_i the noise of force i, from the residuals of the fit of base parameters, and s the `spread`: the expected
relative deviation of bodies' second moments and masses from the robot's own.  So where measurements show little, the
robot's own inertias stay.  The problem has some hundred unknowns, however many samples there are
(`convex_inertia_fit`).

Sources: Lee, Wensing and Park, Geometric robot dynamic identification: a convex programming approach, IEEE T-RO 36,
2020; Rucker and Wensing, Smooth parameterization of rigid-body inertia, IEEE RA-L 7, 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.progress import Progress, Reporter
from linkwork._util.result import Result
from linkwork.dynamics import inertial_parameters as inertial
from linkwork.dynamics.algorithms.regressors import joint_velocities
from linkwork.errors import Status
from linkwork.identify import convex_inertia_fit as deformed
from linkwork.identify.base_parameter_fit import held_out_errors
from linkwork.identify.convex_inertia_fit import ConvexProblem
from linkwork.identify.estimate_tables import body_lines, error_lines, joint_lines
from linkwork.identify.linear_least_squares import RANK, Reduced, fitted, reduced, refuse_exact_fits
from linkwork.identify.measurements import HeldOut, joint_weights, number, read, split, told, whole
from linkwork.identify.parameter_selection import Columns, Passive, columns_of, structural
from linkwork.kernels.robot_base import Array, Axes, Wrenches
from linkwork.model.body import Frame
from linkwork.model.composite_body import frames_with_inertias as with_inertias
from linkwork.model.composite_body import with_summed_inertias
from linkwork.model.coordinate_names import names_in
from linkwork.model.friction_laws import Friction
from linkwork.robot import Robot
from linkwork.spatial.arguments import matrix_of
from linkwork.spatial.inertia_vector import inertia_of, parameters_of

__all__ = ["InertiaFit", "inertias", "with_deformed_bodies"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class InertiaFit(Result):
    """A robot whose inertias are as measured, and how well they are known.  Printed, it is a table."""

    robot: Robot  # with the estimate in it: every inertia is one that a body has
    names: tuple[str, ...]  # of what is estimated, as in `Robot.parameter_names`
    values: np.ndarray  # (p,) the estimate
    nominal: np.ndarray  # (p,) the robot's before
    covariance: np.ndarray  # (p, p), of measurements and expectation together
    inertia_divergence: dict[str, float]  # by body: how far its inertia is from what it was, log det's divergence
    unchanged: tuple[
        str, ...
    ]  # stayed as they were: bodies without mass or extent, what followers share with their masters
    at_bound: tuple[str, ...]  # parameters of joints that are zero because they may not be negative
    identifiable: tuple[int, int]  # how many base parameters the measurements show, and of how many
    sigma: np.ndarray  # (nv,) noise of each joint force [N·m, N]; the weights are 1 / σ
    residual: np.ndarray  # (nv,) root mean square [N·m, N]
    r_squared: np.ndarray  # (nv,) the part of each force's variance that is explained; NaN where it does not vary
    samples: int  # that took part
    held_out: HeldOut | None  # the error at those that did not
    iterations: int
    status: Status  # "solved" or "max_iterations"
    _columns: Columns

    @property
    def success(self) -> bool:
        """True if the fit converged."""
        return self.status is Status.SOLVED

    def _sentence(self, place: tuple[int, ...]) -> str:
        seen, count = self.identifiable
        return (
            f"{len(self.values)} parameters from {self.samples} samples after {self.iterations} iterations; the "
            f"measurements show {seen} of {count} base parameters"
        )

    @property
    def standard_deviations(self) -> np.ndarray:
        """(p,): the square roots of the covariance's diagonal."""
        result: np.ndarray = np.sqrt(np.diag(self.covariance))
        return result

    def joint_forces(self, q: Array, v: Array, a: Array) -> np.ndarray:
        """The forces that the estimate has: q (..., nq), v, a (..., nv) -> (..., nv) [N·m, N]."""
        pi = self._columns.pi.copy()
        pi[self._columns.estimated] = self.values
        Y = self.robot.inverse_dynamics_regressor(q, v, a, **self._columns.options)
        result: np.ndarray = Y @ pi
        return result

    def __repr__(self) -> str:
        return f"<InertiaFit: {len(self.values)} parameters of robot {self.robot.name!r} from {self.samples} samples>"

    def __str__(self) -> str:
        seen, count = self.identifiable
        how = f"{'converged' if self.success else 'NOT converged'} after {self.iterations} iterations"
        held = "" if seen == count else "; the robot's own inertias hold the others"
        lines = [
            f"{len(self.values)} parameters from {self.samples} samples, {how}",
            f"the measurements show {seen} of {count} base parameters{held}",
            "",
            *body_lines(self.names, self.values, self.standard_deviations, self.nominal, self.inertia_divergence),
        ]
        lines += joint_lines(self.names, self.values, self.standard_deviations, self.nominal, self.at_bound)
        followers = [name for name in self.unchanged if name in self._columns.names]
        bodies = [name for name in self.unchanged if name not in followers]
        if bodies:
            lines += ["", f"kept as they were, for they have no mass or no extent: {', '.join(bodies)}"]
        if followers:
            lines += ["", f"kept as they were, for forces do not tell them from others': {', '.join(followers)}"]
        return "\n".join([*lines, "", *error_lines(self.robot.v_names, self.residual, self.r_squared, self.held_out)])


@public
def inertias(
    robot: Robot,
    q: Array,
    v: Array,
    a: Array,
    tau: Array,
    *,
    spread: float = 0.5,
    weights: ArrayLike | Mapping[str, float] | None = None,
    passive: Passive = False,
    friction: Friction = "smooth",
    bodies: Iterable[str] | None = None,
    wrenches: Wrenches | None = None,
    expressed_in: Axes = "world",
    held_out: float | ArrayLike = 0.25,
    max_iterations: int = 200,
    progress: bool | Callable[[Progress], Any] = False,
) -> InertiaFit:
    """A robot with inertias that bodies can have, from measured joint forces: all ten parameters of each body.

    The arguments are those of `base_parameters`, and all are estimated at once: mass, centre and moments of each body,
    such that each is one of a body, and armatures, dampings, frictions and stiffnesses that are not negative.
    ``spread`` says by how much, relatively, inertias are expected to be other than the robot's: 0.5 is by half.  What
    measurements do not show stays as the robot has it; see `InertiaFit.identifiable`.  A body without mass, or without
    extent (a point, a rod), stays, and so does what forces do not tell in a joint that follows from what is in its
    master: see `InertiaFit.unchanged`.  ``max_iterations`` bounds the steps.  ``progress`` shows a bar on standard
    error, or is a function of a `linkwork.Progress`, in steps.

    The covariance is of measurements and expectation together; joints' parameters at their bound are held there.

    With ``passive`` it needs SciPy: ``pip install "linkwork[identify]"``.  Raises ValueError for measurements that are
    none, for bodies in ``bodies`` that have no extent, and where measurements do not show a parameter of a joint, which
    nothing else holds.
    """
    caller = "inertias"
    measurements = read(caller, robot, q, v, a, tau, wrenches, expressed_in)
    columns, kept = _with_extent(
        caller, robot, columns_of(caller, robot, bodies, passive, friction), bodies is not None
    )
    expected = f"{caller}: spread: expected a number above 0, 0.5 for inertias within half of theirs"
    size = number(expected, spread)
    if not np.isfinite(size) or not size > 0.0:
        raise ValueError(f"{expected}; got {spread!r}")
    steps = whole(caller, "max_iterations", max_iterations, 1)
    given = joint_weights(caller, robot, weights)
    measured = np.ones(robot.nv, dtype=bool) if given is None else given > 0.0
    columns, shared = _without_shared(robot, columns, measured)
    out = split(caller, held_out, measurements.leading)
    training = measurements.at(~out)
    base, typical = structural(robot, columns, measured)
    result = reduced(training, columns)
    shown = result.of(base.columns)
    linear = fitted(shown, measured, given, typical[base.columns])
    if given is None:
        refuse_exact_fits(caller, linear, shown, robot.v_names)
    _refuse_joints_not_shown(caller, columns, result, measured, typical)

    rows = result.weighted(1.0 / linear.sigma)
    count = 10 * len(columns.bodies)
    nominal = columns.pi[columns.estimated]
    U = deformed.factors(nominal[:count].reshape(-1, 10))
    problem = ConvexProblem(rows[:, :-1], rows[:, -1], U, size)
    with Reporter(caller, progress, "inertias: iterations", steps) as report:
        solution = problem.solved(nominal[count:], steps, report)
    L, y = solution.L, solution.y
    values = problem.parameters(L, y)
    squares = result.residual_squares(values)
    covariance, at_bound = problem.covariance(L, y)
    maps = dict(zip(columns.bodies, U @ L @ np.linalg.inv(U), strict=True))
    identified = with_joint_numbers(with_deformed_bodies(robot, maps), columns.chosen[count:], y.tolist())
    divergences = zip((robot.bodies[i] for i in columns.bodies), deformed.divergences(L).tolist(), strict=True)
    fit = InertiaFit._make(
        robot=identified,
        names=columns.chosen,
        values=values,
        nominal=nominal,
        covariance=covariance,
        inertia_divergence=dict(divergences),
        unchanged=(*(robot.bodies[i] for i in kept), *shared),
        at_bound=tuple(columns.chosen[count + k] for k in at_bound),
        identifiable=(base.rank - linear.unseen.shape[1], base.rank),
        sigma=linear.sigma,
        residual=result.rms(squares),
        r_squared=result.r_squared(squares),
        samples=len(training),
        held_out=None,
        iterations=solution.steps,
        status=Status.SOLVED if solution.converged else Status.MAX_ITERATIONS,
        _columns=columns,
    )
    return fit._replaced(held_out=held_out_errors(fit, robot, measurements.at(out), columns)) if out.any() else fit


def _with_extent(caller: str, robot: Robot, columns: Columns, named: bool) -> tuple[Columns, tuple[int, ...]]:
    """The columns without those of bodies that have no coordinates, and which bodies these are."""
    ten = columns.pi[: 10 * len(robot.bodies)].reshape(-1, 10)
    kept = tuple(i for i in columns.bodies if not deformed.has_extent(ten[i]))
    if named and kept:
        why = "; ".join(inertial.explain(ten[kept[0]], definite=True))
        raise ValueError(
            f"{caller}: bodies: {told(robot.bodies[i] for i in kept)} cannot be estimated from what the robot has for "
            f"them ({why}): give them mass and extent to begin with, by Robot.with_inertia"
        )
    stays = np.array([k // 10 not in kept or k >= ten.size for k in columns.estimated])
    if not stays.any():
        raise ValueError(
            f"{caller}: no body of robot {robot.name!r} has mass and extent: there is nothing to begin with"
        )
    bodies = tuple(i for i in columns.bodies if i not in kept)
    return replace(columns, estimated=columns.estimated[stays], bodies=bodies), kept


def _without_shared(robot: Robot, columns: Columns, measured: np.ndarray) -> tuple[Columns, tuple[str, ...]]:
    """The columns without those of followers that are sums of other joints' in every state, and the names of these."""
    count = 10 * len(columns.bodies)
    own = columns.estimated[count:]
    bodies = np.array([x.body for x in joint_velocities(robot.tree)])
    coupled = np.array([body.coupling is not None for body in robot.tree.bodies])
    follows = coupled[bodies[(own - 10 * len(robot.bodies)) % len(bodies)]]
    if not follows.any():
        return columns, ()
    own = np.concatenate([own[~follows], own[follows]])  # sums are of what stands before
    dependent = structural(robot, replace(columns, estimated=own), measured)[0].dependent
    shared = np.sort(own[dependent[dependent >= (~follows).sum()]])
    stays = ~np.isin(columns.estimated, shared)
    return replace(columns, estimated=columns.estimated[stays]), tuple(columns.names[k] for k in shared)


def _refuse_joints_not_shown(
    caller: str, columns: Columns, result: Reduced, measured: np.ndarray, typical: np.ndarray
) -> None:
    """Raises ValueError for parameters of joints that measurements do not tell from each other, or show at all."""
    own = np.arange(10 * len(columns.bodies), result.width)
    if not len(own):
        return
    A = result.weighted(measured.astype(float))[:, own]
    lengths = np.linalg.norm(A, axis=0)
    rows = result.samples * measured.sum()
    zero = lengths <= RANK * typical[own] * np.sqrt(rows)
    _, s, Vt = np.linalg.svd(A / np.where(zero, 1.0, lengths) * ~zero)
    unseen = Vt[(s > RANK * s[0]).sum() if s[0] > 0.0 else 0 :]
    if len(unseen):
        share = np.linalg.norm(unseen, axis=0)
        names = [columns.chosen[own[k]] for k in np.argsort(-share, kind="stable") if share[k] > 0.1]
        raise ValueError(
            f"{caller}: the measurements do not show {told(names)}: measure motions that do, or leave "
            f"their kind out of "
            f"`passive`"
        )


def with_deformed_bodies(robot: Robot, maps: Mapping[int, np.ndarray]) -> Robot:
    """The robot whose bodies' pseudo-inertias P are A P Aᵀ: ``maps`` are A (4, 4), by the bodies' places.

    Of several links that are welded to one body each is moved by the same A, so their sum is the body's, and each stays
    what a distribution of mass has.
    """
    tree = robot.tree
    frames = tuple(
        _moved(frame, maps[frame.body]) if frame.body in maps else frame
        for frame in with_inertias(tree.bodies, tree.frames)
    )
    return Robot(replace(tree, frames=frames, bodies=with_summed_inertias(tree.bodies, frames)))


def with_joint_numbers(robot: Robot, names: Sequence[str], values: Sequence[float]) -> Robot:
    """The robot with parameters of joints, named as in `Robot.parameter_names`: ``"elbow.damping"``.

    Where damping and friction were kept and did not act, those that are not given are zero beside one that is.  Static
    friction that is stated is raised to a larger friction.
    """
    given = dict(zip(names, values, strict=True))
    for i in robot.tree.order:
        numbers = names_in(robot.tree.bodies[i], "v")
        joint = result = robot.joint(robot.tree.bodies[i].joint_name)
        resisting = {f"{number}.{kind}" for number in numbers for kind in ("damping", "friction")}
        if joint.dynamics == "none" and not resisting.isdisjoint(given):
            result = joint.with_damping(0.0).with_friction(0.0).with_static_friction(0.0).with_dynamics("urdf")
        for kind in ("armature", "damping", "friction", "stiffness"):
            keys = [f"{number}.{kind}" for number in numbers]
            if any(key in given for key in keys):
                new = [given.get(key, x) for key, x in zip(keys, getattr(result, kind), strict=True)]
                if kind == "friction":
                    result = result.with_static_friction(np.maximum(result.static_friction, new))
                result = getattr(result, f"with_{kind}")(new)
        if result is not joint:
            robot = robot.with_joint(result)
    return robot


def _moved(frame: Frame, A: np.ndarray) -> Frame:
    """A frame whose inertia is deformed by A, which is told in the body's frame."""
    pi = np.array(parameters_of(frame.inertia), dtype=float)
    if not pi.any():
        return frame
    X = matrix_of(frame.placement)
    own = np.linalg.solve(X, A @ X)
    P = own @ inertial.pseudo_inertia(pi) @ own.T
    return replace(frame, inertia=inertia_of(inertial.from_pseudo_inertia(P).tolist()))
