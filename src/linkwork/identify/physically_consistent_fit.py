"""Fit of physically consistent inertias to measured joint forces, and the robot with the result.

The measurements are reduced to a triangle R_i for each joint force (`linear_least_squares`).  The unknowns are all π of
bodies, by their log-Cholesky factors, and nonnegative joint parameters y.  The estimate minimises

    Σ_i |R_i (π; y; −1)|² / (2 σ_i²) + Σ D(P, P_0) / s²

with σ_i the noise of force i, from the residuals of the fit of base parameters, and s the `spread`: the expected
relative deviation of bodies' second moments and masses from the robot's own.  So where measurements have little
information, the robot's own inertias stay.  The problem has some hundred unknowns, for any number of samples
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

from linkwork import Robot
from linkwork import parameters as inertial
from linkwork._util.checked_arguments import public
from linkwork._util.messages import escaped
from linkwork._util.progress import Progress, Reporter
from linkwork._util.result import Result
from linkwork._util.validation import finite_number, integer
from linkwork.errors import Status
from linkwork.identify import convex_inertia_fit
from linkwork.identify.base_parameter_fit import held_out_errors
from linkwork.identify.convex_inertia_fit import ConvexProblem
from linkwork.identify.estimate_tables import body_lines, error_lines, joint_lines
from linkwork.identify.linear_least_squares import RANK, Reduced, fit_linear, reduce_measurements, refuse_exact_fits
from linkwork.identify.measurements import HeldOut, joint_weights, name_list, read, split
from linkwork.identify.parameter_selection import Columns, Passive, columns_of, structural
from linkwork.kernels import Array, Axes, Wrenches
from linkwork.model import Frame, Friction, names_in, with_summed_inertias
from linkwork.model import frames_with_inertias as with_inertias
from linkwork.spatial import Inertia

__all__ = ["InertiaFit", "inertias", "with_deformed_bodies"]


@dataclass(frozen=True, eq=False, repr=False, init=False)
class InertiaFit(Result):
    """A robot with estimated inertias, and their accuracy.  Printed, it is a table."""

    robot: Robot  # with the estimate; every inertia is physically consistent
    names: tuple[str, ...]  # estimated parameters, as in `Robot.parameter_names`
    values: np.ndarray  # (p,) the estimate
    nominal: np.ndarray  # (p,) the robot's original values
    covariance: np.ndarray  # (p, p) of measurements and prior together
    inertia_divergence: dict[str, float]  # by body: log-det divergence of its inertia from the original
    unchanged: tuple[str, ...]  # bodies without mass or extent; followers' parameters that depend on their masters'
    at_bound: tuple[str, ...]  # joint parameters at their bound of zero
    identifiable: tuple[int, int]  # number of base parameters that the measurements determine, and of all
    sigma: np.ndarray  # (nv,) noise of each joint force [N·m, N]; weights are 1 / σ
    residual: np.ndarray  # (nv,) root mean square [N·m, N]
    r_squared: np.ndarray  # (nv,) explained share of each force's variance; NaN if it does not vary
    samples: int  # used in the fit
    held_out: HeldOut | None  # errors at held-out samples
    iterations: int
    status: Status  # "solved" or "max_iterations"
    _columns: Columns

    @property
    def success(self) -> bool:
        """True if the fit converged."""
        return self.status is Status.SOLVED

    def _sentence(self, index: tuple[int, ...]) -> str:
        identified_count, count = self.identifiable
        return (
            f"{len(self.values)} parameters from {self.samples} samples after {self.iterations} iterations; the "
            f"measurements determine {identified_count} of {count} base parameters"
        )

    @property
    def standard_deviations(self) -> np.ndarray:
        """Standard deviations (p,): square roots of the covariance's diagonal."""
        result: np.ndarray = np.sqrt(np.diag(self.covariance))
        return result

    def joint_forces(self, q: Array, v: Array, a: Array) -> np.ndarray:
        """Return the joint forces (..., nv) [N·m, N] of the estimate at q (..., nq), v, a (..., nv)."""
        pi = self._columns.pi.copy()
        pi[self._columns.estimated] = self.values
        Y = self.robot.inverse_dynamics_regressor(q, v, a, **self._columns.options)
        result: np.ndarray = Y @ pi
        return result

    def __repr__(self) -> str:
        return f"<InertiaFit: {len(self.values)} parameters of robot {self.robot.name!r} from {self.samples} samples>"

    def __str__(self) -> str:
        identified_count, count = self.identifiable
        how = f"{'converged' if self.success else 'NOT converged'} after {self.iterations} iterations"
        note = "" if identified_count == count else "; the others follow the robot's own inertias"
        lines = [
            f"{len(self.values)} parameters from {self.samples} samples, {how}",
            f"the measurements determine {identified_count} of {count} base parameters{note}",
            "",
            *body_lines(self.values, self.standard_deviations, self.nominal, self.inertia_divergence),
        ]
        lines += joint_lines(self.names, self.values, self.standard_deviations, self.nominal, self.at_bound)
        followers = [name for name in self.unchanged if name in self._columns.names]
        bodies = [name for name in self.unchanged if name not in followers]
        if bodies:
            lines += ["", f"unchanged, without mass or extent: {', '.join(map(escaped, bodies))}"]
        if followers:
            lines += [
                "",
                f"unchanged, not distinguishable from other joints by forces: {', '.join(map(escaped, followers))}",
            ]
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
    passive: Passive | None = None,
    friction: Friction = "smooth",
    bodies: Iterable[str] | None = None,
    wrenches: Wrenches | None = None,
    expressed_in: Axes = "world",
    held_out: float | ArrayLike = 0.25,
    max_iterations: int = 200,
    progress: bool | Callable[[Progress], Any] = False,
) -> InertiaFit:
    """Estimate physically consistent inertias from measured joint forces: all ten parameters of each body.

    The samples q, v, a, tau, ``weights``, ``wrenches``, ``expressed_in``, ``held_out`` and options of the model are as
    in `base_parameters`.  Mass, center of mass and moments of each body are estimated together, such that they are
    physically consistent, with nonnegative armature, damping, friction and stiffness of joints. ``spread`` is the
    expected relative deviation of inertias from the robot's: 0.5 is 50 %.  Parameters that measurements do not
    determine stay near the robot's; see `InertiaFit.identifiable`.  A body without mass, or without extent (a point, a
    rod), is unchanged.  So are parameters of a follower joint that forces do not distinguish from its master's: see
    `InertiaFit.unchanged`.  ``max_iterations`` bounds the steps.  ``progress`` shows a bar on standard error, or is a
    function of a `linkwork.Progress`, in steps.

    The covariance is that of measurements and prior together; joint parameters at their bound are fixed there.

    With ``passive`` it needs SciPy: ``pip install "linkwork[identify]"``.  Raises ValueError for invalid measurements,
    for bodies in ``bodies`` without extent, and if measurements do not determine a joint parameter, for which there is
    no prior.
    """
    caller = "inertias"
    measurements = read(caller, robot, q, v, a, tau, wrenches, expressed_in)
    columns, unchanged = _with_extent(
        caller, robot, columns_of(caller, robot, bodies, passive, friction), bodies is not None
    )
    example = "a positive number, such as 0.5 for inertias within 50 %"
    size = finite_number(caller, "spread", spread, above=0.0, symbols=False, description=example)
    steps = integer(caller, "max_iterations", max_iterations, least=1)
    joint_weight = joint_weights(caller, robot, weights)
    measured = np.ones(robot.nv, dtype=bool) if joint_weight is None else joint_weight > 0.0
    columns, shared = _without_shared(robot, columns, measured)
    out = split(caller, held_out, measurements.leading)
    training = measurements.at(~out)
    base, typical = structural(robot, columns, measured)
    result = reduce_measurements(training, columns)
    shown = result.of(base.columns)
    linear = fit_linear(shown, measured, joint_weight, typical[base.columns])
    if joint_weight is None:
        refuse_exact_fits(caller, linear, shown, robot.v_names)
    _require_observable_joints(caller, columns, result, measured, typical)

    rows = result.weighted(1.0 / linear.sigma)
    count = 10 * len(columns.bodies)
    nominal = columns.pi[columns.estimated]
    U = convex_inertia_fit.factors(nominal[:count].reshape(-1, 10))
    problem = ConvexProblem(rows[:, :-1], rows[:, -1], U, size)
    with Reporter(caller, progress, "inertias: iterations", steps) as report:
        solution = problem.solve(nominal[count:], steps, report)
    L, y = solution.L, solution.y
    values = problem.parameters(L, y)
    squares = result.residual_squares(values)
    covariance, at_bound = problem.covariance(L, y)
    maps = dict(zip(columns.bodies, U @ L @ np.linalg.inv(U), strict=True))
    identified = with_joint_parameters(with_deformed_bodies(robot, maps), columns.chosen[count:], y.tolist())
    divergences = zip(
        (robot.bodies[i] for i in columns.bodies), convex_inertia_fit.divergences(L).tolist(), strict=True
    )
    fit = InertiaFit._make(
        robot=identified,
        names=columns.chosen,
        values=values,
        nominal=nominal,
        covariance=covariance,
        inertia_divergence=dict(divergences),
        unchanged=(*(robot.bodies[i] for i in unchanged), *shared),
        at_bound=tuple(columns.chosen[count + k] for k in at_bound),
        identifiable=(base.rank - linear.unobservable.shape[1], base.rank),
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
    """Return the selection without bodies that have no mass or no extent, and the indices of those bodies.

    Raises ValueError if the user ``named`` such bodies, or no body is left.
    """
    ten = columns.pi[: 10 * len(robot.bodies)].reshape(-1, 10)
    unchanged = tuple(i for i in columns.bodies if not convex_inertia_fit.has_extent(ten[i]))
    if named and unchanged:
        why = "; ".join(inertial.explain(ten[unchanged[0]], definite=True))
        raise ValueError(
            f"{caller}: bodies: {name_list(robot.bodies[i] for i in unchanged)} cannot be estimated from the robot's "
            f"inertias ({why}); give them mass and extent first, by Robot.with_inertia"
        )
    is_estimated = np.array([k // 10 not in unchanged or k >= ten.size for k in columns.estimated])
    if not is_estimated.any():
        raise ValueError(
            f"{caller}: robot: no body of robot {robot.name!r} has mass and extent, so there is no inertia to "
            f"start from"
        )
    bodies = tuple(i for i in columns.bodies if i not in unchanged)
    return replace(columns, estimated=columns.estimated[is_estimated], bodies=bodies), unchanged


def _without_shared(robot: Robot, columns: Columns, measured: np.ndarray) -> tuple[Columns, tuple[str, ...]]:
    """Return the selection without parameters of followers that forces do not distinguish, and their names.

    Regressor columns of these parameters are always linear combinations of other joints' columns.
    """
    count = 10 * len(columns.bodies)
    joint_columns = columns.estimated[count:]
    bodies = np.array([i for i in robot.tree.order for _ in range(robot.tree.bodies[i].joint.nv)])
    coupled = np.array([body.coupling is not None for body in robot.tree.bodies])
    follows = coupled[bodies[(joint_columns - 10 * len(robot.bodies)) % len(bodies)]]
    if not follows.any():
        return columns, ()
    joint_columns = np.concatenate([joint_columns[~follows], joint_columns[follows]])  # sums are of earlier columns
    dependent = structural(robot, replace(columns, estimated=joint_columns), measured)[0].dependent
    shared = np.sort(joint_columns[dependent[dependent >= (~follows).sum()]])
    is_estimated = ~np.isin(columns.estimated, shared)
    return replace(columns, estimated=columns.estimated[is_estimated]), tuple(columns.names[k] for k in shared)


def _require_observable_joints(
    caller: str, columns: Columns, result: Reduced, measured: np.ndarray, typical: np.ndarray
) -> None:
    """Raise ValueError with the names of joint parameters that the measurements do not determine."""
    joint_columns = np.arange(10 * len(columns.bodies), result.width)
    if not len(joint_columns):
        return
    A = result.weighted(measured.astype(float))[:, joint_columns]
    lengths = np.linalg.norm(A, axis=0)
    rows = result.samples * measured.sum()
    zero = lengths <= RANK * typical[joint_columns] * np.sqrt(rows)
    _, s, Vt = np.linalg.svd(A / np.where(zero, 1.0, lengths) * ~zero)
    unobservable = Vt[(s > RANK * s[0]).sum() if s[0] > 0.0 else 0 :]
    if len(unobservable):
        share = np.linalg.norm(unobservable, axis=0)
        names = [columns.chosen[joint_columns[k]] for k in np.argsort(-share, kind="stable") if share[k] > 0.1]
        raise ValueError(
            f"{caller}: the measurements do not determine {name_list(names)}; measure motions that do, or leave "
            f"out their kind in `passive`"
        )


def with_deformed_bodies(robot: Robot, maps: Mapping[int, np.ndarray]) -> Robot:
    """Return the robot with the pseudo-inertia P of each body in ``maps`` changed to A P Aᵀ.

    ``maps`` has the matrix A (4, 4) by body index.

    The inertias of all links that are welded to a body are transformed by its A, so their sum is the inertia of the
    body, and each of them stays physically consistent.
    """
    tree = robot.tree
    frames = tuple(
        _moved(frame, maps[frame.body]) if frame.body in maps else frame
        for frame in with_inertias(tree.bodies, tree.frames)
    )
    return Robot(replace(tree, frames=frames, bodies=with_summed_inertias(tree.bodies, frames)))


def with_joint_parameters(robot: Robot, names: Sequence[str], values: Sequence[float]) -> Robot:
    """Return the robot with new values of joint parameters, named as in `Robot.parameter_names`: ``"elbow.damping"``.

    If a joint's damping and friction do not act and ``names`` has one of these parameters, all of them act; parameters
    without a value in ``values`` are zero. Static friction is raised to a larger friction.
    """
    new_values = dict(zip(names, values, strict=True))
    for i in robot.tree.order:
        coordinate_names = names_in(robot.tree.bodies[i], "v")
        joint = result = robot.joint(robot.tree.bodies[i].joint_name)
        resisting = {f"{number}.{kind}" for number in coordinate_names for kind in ("damping", "friction")}
        if joint.dynamics == "none" and not resisting.isdisjoint(new_values):
            result = joint.with_damping(0.0).with_friction(0.0).with_static_friction(0.0).with_dynamics("urdf")
        for kind in ("armature", "damping", "friction", "stiffness"):
            keys = [f"{number}.{kind}" for number in coordinate_names]
            if any(key in new_values for key in keys):
                new = [new_values.get(key, x) for key, x in zip(keys, getattr(result, kind), strict=True)]
                if kind == "friction":
                    result = result.with_static_friction(np.maximum(result.static_friction, new))
                result = getattr(result, f"with_{kind}")(new)
        if result is not joint:
            robot = robot.with_joint(result)
    return robot


def _moved(frame: Frame, A: np.ndarray) -> Frame:
    """Return a frame with its pseudo-inertia P changed to A P Aᵀ, with A (4, 4) in the body's axes."""
    pi = np.array(frame.inertia.parameters(), dtype=float)
    if not pi.any():
        return frame
    X = frame.placement.matrix()
    transform = np.linalg.solve(X, A @ X)
    P = transform @ inertial.pseudo_inertia(pi) @ transform.T
    return replace(frame, inertia=Inertia.of_parameters(inertial.from_pseudo_inertia(P).tolist()))
