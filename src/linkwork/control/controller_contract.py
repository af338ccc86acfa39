"""`check_controller` checks that a user's controller meets the requirements of `ControlLaw`.

Each requirement is checked at random states and inputs.  The reference of a call is the controller's own code on plain
floats.  Other requirements compare calls with each other, with difference quotients, and with a simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.contract_report import ContractReport, Requirement, check_requirements, relative_error
from linkwork._util.validation import integer
from linkwork.control.controller_base import ControlLaw
from linkwork.errors import UnknownNameError
from linkwork.expr import jacobian
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import compile
from linkwork.spatial import Pose, Quaternion, Vec3

__all__ = ["REQUIREMENTS", "check_controller"]

_RESERVED = ("t", "q", "v", "z")
_ATTEMPTS = 10  # random configurations that are tried until one can be assembled
_SAME = 1e-9  # relative tolerance of two evaluations of the same code
_DIFFERENCE = 1e-5  # relative tolerance of a derivative and a difference quotient
_EPSILON = 1e-6  # [s] step of that quotient
_FAR = 1e3  # factor of velocities at which forces exceed effort limits


@dataclass
class _Trial:
    """A controller with the states and inputs at which it is checked."""

    law: ControlLaw
    samples: int
    seed: int
    examples: Mapping[str, ArrayLike | Callable[[np.random.Generator], ArrayLike]]

    @cached_property
    def states(self) -> list[dict[str, Any]]:
        """Times, states and all inputs with which the controller is called: dicts by argument name.

        At the last state the robot is at rest at its target.
        """
        rng, robot = np.random.default_rng(self.seed), self.law.robot
        states = []
        for _ in range(self.samples):
            q, v = self._allowed(self._assembled(rng), 0.1 * rng.normal(size=robot.nv))
            moving = any(c.time_dependent for c in robot.constraints)  # whose states are those of the time 0
            state = {"t": np.array(0.0 if moving else rng.uniform(0.0, 1.0)), "q": q, "v": v}
            if self.law.start is not None:
                state["z"] = np.asarray(self.law.start) + 0.01 * rng.normal(size=np.shape(self.law.start))
            states.append(state | {name: self._example(name, rng, q) for name in self.law.input_shapes})
        last = states[-1]  # at rest at its target
        last["v"] = self._allowed(last["q"], np.zeros(robot.nv))[1]
        for name in set(last).difference(self.examples):
            if name.endswith("_q") and np.shape(last[name]) == (robot.nq,):
                last[name] = np.array(last["q"], dtype=float)
            if name.endswith(("_v", "_a")):
                last[name] = np.zeros(np.shape(last[name]))
        return states

    def _assembled(self, rng: np.random.Generator) -> np.ndarray:
        """Return a random configuration that satisfies the constraints.

        Raises AssemblyError if none of several random configurations can be assembled.
        """
        robot = self.law.robot
        q = robot.random_configuration(rng)
        if not any(c.holonomic for c in robot.constraints):
            return np.asarray(q)
        for _ in range(_ATTEMPTS):
            assembly = robot.assemble(q, check=False)
            if assembly.success:
                return np.asarray(assembly.q)
            q = robot.random_configuration(rng)
        return np.asarray(robot.assemble(q).q)

    def _allowed(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return q and the velocity nearest to v that satisfies the constraints."""
        robot = self.law.robot
        return (q, robot.project(q, v)[1]) if robot.constraints else (q, v)

    def _example(self, name: str, rng: np.random.Generator, q: np.ndarray) -> np.ndarray:
        robot, shape = self.law.robot, self.law.input_shapes[name]
        if name in self.examples:
            example = self.examples[name]
            return np.asarray(example(rng) if callable(example) else example, dtype=float)
        if name in self.law.pose_inputs:
            rotation = Quaternion.exp(Vec3(*(0.3 * rng.normal(size=3)))).rotation()
            return np.array(Pose(rotation, Vec3(*(0.3 * rng.normal(size=3)))).elements()).reshape(4, 4)
        if name.endswith("_q") and shape == (robot.nq,):
            return np.asarray(robot.integrate(q, 0.1 * rng.normal(size=robot.nv)))
        return 0.1 * rng.normal(size=shape)

    def call(self, state: Mapping[str, Any]) -> list[np.ndarray]:
        """Return [τ], or [τ, next z] for a controller with state, of one state or a batch."""
        state = dict(state)
        arguments = [state.pop(name) for name in _RESERVED if name in state]
        return self.outputs(self.law(*arguments, **state))

    def outputs(self, result: Any) -> list[np.ndarray]:
        """Return the arrays of a call's result.  Raises ValueError for a result of another form."""
        if self.law.start is None:
            return [np.asarray(result, dtype=float)]
        if not isinstance(result, tuple) or len(result) != 2:
            raise ValueError(f"expected (τ, z) of a controller with start, got {type(result).__name__}")
        return [np.asarray(x, dtype=float) for x in result]

    @cached_property
    def kernel(self) -> Any:
        """Kernel of a function that calls the controller."""
        law = self.law

        def control(**symbols: Any) -> Any:
            arguments = [symbols.pop(name) for name in _RESERVED if name in symbols]
            result = law(*arguments, **symbols)
            return {"tau": result} if law.start is None else {"tau": result[0], "z": result[1]}

        return compile(control, name="checked_controller", **{x: np.shape(y) for x, y in self.states[0].items()})

    def of_kernel(self, result: Any) -> list[np.ndarray]:
        """Return the arrays of the kernel's result as a list: [τ], or [τ, next state]."""
        return [np.asarray(result)] if self.law.start is None else [result.tau, result.z]

    @property
    def batch(self) -> dict[str, np.ndarray]:
        return {name: np.stack([state[name] for state in self.states]) for name in self.states[0]}


def _declarations(trial: _Trial) -> list[float]:
    law = trial.law
    for name, shape in law.input_shapes.items():
        if not isinstance(name, str) or not name.isidentifier() or name in _RESERVED:
            raise ValueError(f"input_shapes: {name!r}: expected names other than {', '.join(_RESERVED)}")
        if not isinstance(shape, tuple) or not all(isinstance(n, int) and n > 0 for n in shape):
            raise ValueError(f"input_shapes: {name!r}: expected a tuple of positive integers, got {shape!r}")
    for argument, names in (("required_inputs", law.required_inputs), ("pose_inputs", law.pose_inputs)):
        for name in names:
            if name not in law.input_shapes:
                raise ValueError(f"{argument}: {name!r} is not one of input_shapes: {', '.join(law.input_shapes)}")
    for name in law.pose_inputs:
        if law.input_shapes[name] != (4, 4):
            raise ValueError(f"pose_inputs: {name!r}: expected shape (4, 4), got {law.input_shapes[name]}")
    if law.start is not None and not (np.ndim(law.start) and np.isfinite(law.start).all()):
        raise ValueError(f"start: expected a finite array, got {law.start!r}")
    return [0.0]


def _names(trial: _Trial) -> list[float]:
    law, state = trial.law, trial.states[0]
    cases: list[tuple[str, dict[str, Any], type[Exception]]] = [
        ("an unknown input", state | {"no_such_input": 0.0}, UnknownNameError)
    ]
    for name in law.required_inputs:
        cases.append((f"no {name}", {x: value for x, value in state.items() if x != name}, TypeError))
    for name, shape in law.input_shapes.items():
        if shape:  # for scalar inputs every array is a valid batch
            cases.append(
                (f"{name} of another shape", state | {name: np.zeros((*shape[:-1], shape[-1] + 1))}, ValueError)
            )
    for case, arguments, error in cases:
        try:
            trial.call(arguments)
        except error:
            continue
        raise ValueError(f"{case}: expected {error.__name__}, but the call returned")
    return [0.0]


def _shapes(trial: _Trial) -> list[float]:
    law = trial.law
    required = {x: value for x, value in trial.states[0].items() if x in (*_RESERVED, *law.required_inputs)}
    for state in (*trial.states, required):  # the last without optional inputs
        results = trial.call(state)
        expected = [(law.robot.nv,)] + ([] if law.start is None else [np.shape(law.start)])
        for x, shape in zip(results, expected, strict=True):
            if x.shape != shape:
                raise ValueError(f"expected τ{'' if law.start is None else ' and z'} {expected}, got {x.shape}")
            if not np.isfinite(x).all():
                raise ValueError(f"not finite at a finite state: {x}")
    return [0.0]


def _floats(trial: _Trial) -> list[float]:
    errors = []
    for state in trial.states:
        inputs = {name: value for name, value in state.items() if name not in _RESERVED}
        t, q, v, z = (state.get(name) for name in _RESERVED)
        reference = trial.outputs(trial.law._outputs(t, q, v, z, inputs))
        errors += [relative_error(x.ravel(), y.ravel()) for x, y in zip(trial.call(state), reference, strict=True)]
    return errors


def _kernels(trial: _Trial) -> list[float]:
    kernel, errors = trial.kernel, []
    for state in trial.states:
        results = zip(trial.of_kernel(kernel(**state)), trial.call(state), strict=True)
        errors += [relative_error(np.ravel(x), np.ravel(y)) for x, y in results]
    return errors


def _batches(trial: _Trial) -> list[float]:
    together = trial.call(trial.batch)
    errors = []
    for k, state in enumerate(trial.states):
        errors += [float(not np.array_equal(x, y[k])) for x, y in zip(trial.call(state), together, strict=True)]
    return errors


def _nans(trial: _Trial) -> list[float]:
    kernel, batch, errors = trial.kernel, trial.batch, []
    clean = trial.of_kernel(kernel(**batch))
    for name in batch:
        broken = batch | {name: batch[name].copy()}
        broken[name][0] = np.nan
        try:
            trial.call(broken)
        except ValueError as error:
            if name not in str(error):
                raise ValueError(f"NaN in {name}: expected an error that names it, got: {error}") from None
        else:
            raise ValueError(f"NaN in {name}: expected ValueError, but the call returned")
        results = zip(trial.of_kernel(kernel(**broken)), clean, strict=True)
        errors += [float(not np.array_equal(x[1:], y[1:])) for x, y in results]
    return errors


def _efforts(trial: _Trial) -> list[float]:
    law, errors = trial.law, []
    idle = np.setdiff1d(np.arange(law.robot.nv), law.acting)
    for state in trial.states:
        for factor in (1.0, _FAR):
            tau = trial.call(state | {"v": factor * state["v"]})[0]
            errors.append(float(np.any(np.abs(tau) > law.effort_limits)))
            errors.append(float(np.any(tau[idle])))
    return errors


def _derivatives(trial: _Trial) -> list[float]:
    law, robot = trial.law, trial.law.robot
    shapes = {name: np.shape(x) for name, x in trial.states[0].items()}

    def torque_after(s: Any, along: Any, **symbols: Any) -> Any:
        """Return the controller's τ after s seconds of a motion; ``along`` are its velocities and accelerations."""
        symbols["q"] = robot.integrate(symbols["q"], array([s * x for x in along]))
        symbols["v"] = array([x + s * y for x, y in zip(symbols["v"], along, strict=True)])
        arguments = [symbols.pop(name) for name in _RESERVED if name in symbols]
        result = law(*arguments, **symbols)
        return result if law.start is None else result[0]

    def slope(s: Any, along: Any, **symbols: Any) -> Any:
        tau = torque_after(s, along, **symbols)
        return {"tau": tau, "slope": array([row[0] for row in jacobian(list(tau), [s])])}

    kernel = compile(slope, name="checked_controller_slope", s=(), along=(robot.nv,), **shapes)
    rng, errors = np.random.default_rng(trial.seed), []
    for state in trial.states:
        along = rng.normal(size=robot.nv)
        at, after, before = (kernel(s=s, along=along, **state) for s in (0.0, _EPSILON, -_EPSILON))
        if not np.isfinite(at.slope).all():
            raise ValueError(f"the derivative of τ by the state is not finite: {at.slope}")
        sides = [(after.tau - at.tau) / _EPSILON, (at.tau - before.tau) / _EPSILON]
        if relative_error(*sides) < 1e-3:  # otherwise a limit becomes active in between
            errors.append(relative_error(at.slope, 0.5 * (sides[0] + sides[1])))
    return errors


def _simulations(trial: _Trial) -> list[float]:
    law, state = trial.law, trial.states[0]
    inputs = {name: x for name, x in state.items() if name not in _RESERVED}
    motion = law.robot.simulate(state["q"], state["v"], controller=law, duration=5e-3, dt=1e-3, constants=inputs)
    if not motion.success:
        raise ValueError(f"the simulation ended with {motion.status}: {motion.message}")
    start = {} if law.start is None else {"z": np.asarray(law.start, dtype=float)}
    tau = trial.call(state | {"t": 0.0} | start)[0]
    return [relative_error(motion.records["tau"][0], tau)] if "tau" in motion.records else []


REQUIREMENTS: tuple[Requirement[_Trial], ...] = (
    Requirement("input_shapes", "inputs have names, shapes and, if poses, the shape (4, 4)", 0.0, _declarations),
    Requirement("inputs", "unknown names, missing inputs and wrong shapes raise an error", 0.0, _names),
    Requirement("forces", "τ (nv), and z like start, are finite at finite states", 0.0, _shapes),
    Requirement("over any scalar", "the compiled call equals the code on floats", _SAME, _floats),
    Requirement("traced", "as part of another kernel it returns the same", _SAME, _kernels),
    Requirement("batch", "each entry of a batch equals a single call, bit for bit", 0.0, _batches),
    Requirement("nan", "a call names an input with NaN; in a kernel NaN stays in its entry", 0.0, _nans),
    Requirement("effort limits", "|τ| is within limits, and 0 for joints without an actuator", 0.0, _efforts),
    Requirement(
        "derivative",
        "the derivative by the state is finite and equals a difference quotient",
        _DIFFERENCE,
        _derivatives,
    ),
    Requirement("simulate", "a simulation runs with the controller and begins with its forces", _SAME, _simulations),
)


@public
def check_controller(
    controller: ControlLaw,
    *,
    inputs: Mapping[str, Any] | None = None,
    samples: int = 8,
    seed: np.random.Generator | int | None = 0,
) -> ContractReport:
    """Check that a controller, for example your own, meets the requirements of `ControlLaw`.

    Each requirement is checked at ``samples`` states of the controller's robot: random states from ``seed``, and a
    state at rest at the target. ``inputs`` are examples by name, an array or a function of a NumPy generator, for
    inputs such as directions that cannot be arbitrary numbers. Random poses, and configurations for names that end
    with "_q", are valid. If a method of the controller raises an exception, the requirement fails, and the report
    names the line of code. The report prints as a table; ``check_controller(controller).raise_if_failed()`` is a test.

    Raises TypeError for an object that is not a `ControlLaw`, UnknownNameError for an unknown input.

    >>> import linkwork as lw
    >>> law = lw.control.PD(lw.load("double_pendulum"), kp=50.0, kd=5.0)
    >>> report = lw.control.check_controller(law)
    >>> report.success, str(report).splitlines()[0]
    (True, 'controller PD keeps the contract')
    """
    if not isinstance(controller, ControlLaw):
        raise TypeError(f"check_controller: controller: expected a linkwork.control.ControlLaw, got {controller!r}")
    samples = integer("check_controller", "samples", samples, least=2)
    for name in inputs or {}:
        if name not in controller.input_shapes:
            raise UnknownNameError(f"input of {controller.caller}", name, controller.input_shapes)
    number = int(np.random.default_rng(seed).integers(2**32))
    kind = type(controller)
    trial = _Trial(controller, samples, number, dict(inputs or {}))
    return check_requirements(f"controller {kind.__name__}", REQUIREMENTS, trial, kind, ControlLaw)
