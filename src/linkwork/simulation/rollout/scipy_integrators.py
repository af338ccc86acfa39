"""Simulation with `scipy.integrate.solve_ivp`, one step at a time, in local coordinates at the start of each step.

SciPy integrates φ and v: φ̇ of local coordinates around q, and v̇ = a(t, q ⊕ φ, v), under the constant forces of the
step.  At its end the local coordinates are reset, and the state is projected on constraints, as with other methods.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.progress import Reporter
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.simulation.result import Simulation
from linkwork.simulation.rollout.rollout import CONTROLLER, RUNNING, STATE, SimulationState, commanded
from linkwork.simulation.rollout.simulated_dynamics import SimulatedDynamics
from linkwork.simulation.simulation_spec import SimulationSetup

__all__ = ["scipy_solver", "solved_by_scipy"]

_PREFIX = "scipy:"
_SOLVERS = ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA")
_RELATIVE, _ABSOLUTE = 1e-10, 1e-12  # tolerances: [1], and [rad, characteristic lengths] and these per second


class _Kernels(NamedTuple):
    """Kernels for SciPy's solvers: the rates of (φ, v), the forces of a step, and the state at its end.

    φ is the displacement from the configuration at the start of the step.
    """

    rates: Kernel
    command: Kernel
    end: Kernel


_KERNELS: LazyCache[_Kernels] = LazyCache(16)


def scipy_solver(method: Any) -> str:
    """Return the name of SciPy's solver in a method "scipy:<solver>", "" for other methods.

    Raises UnknownNameError.
    """
    if not (isinstance(method, str) and method.startswith(_PREFIX)):
        return ""
    solver = method.removeprefix(_PREFIX)
    if solver not in _SOLVERS:
        raise UnknownNameError("solver of SciPy", solver, _SOLVERS)
    return solver


def solved_by_scipy(run: Any, solver: str, q: np.ndarray, v: np.ndarray, progress: Any) -> Simulation:
    """Simulate each environment by itself in Python with SciPy: slow, for comparison.

    Raises ValueError for options that it does not support, ImportError if SciPy is not installed.
    """
    setup: SimulationSetup = run.setup
    wrong = {
        "record": setup.records,
        "events": setup.events,
        "wrenches": setup.wrenches,
        "sensors": setup.sensors,
        "controllers or sensors with a state": setup.start is not None,
    }
    for option, is_set in wrong.items():
        if is_set:
            raise ValueError(f"simulate: method: '{_PREFIX}{solver}' does not support {option}; choose another method")
    try:
        solve_ivp: Any = importlib.import_module("scipy.integrate").solve_ivp
    except ImportError:
        raise ImportError(f"simulate: method='{_PREFIX}{solver}' needs SciPy: pip install scipy") from None
    kernels = _KERNELS.get(setup, lambda: _compiled(setup))
    n, total = len(run.leading), run.steps // setup.every
    qs = np.empty((*run.leading, total + 1, q.shape[-1]))
    vs = np.empty((*run.leading, total + 1, v.shape[-1]))
    status, stopped = np.full(run.leading, RUNNING), np.full(run.leading, np.nan)

    def own(arrays: Mapping[str, Any], index: tuple[int, ...], cores: Any) -> dict[str, Any]:
        return {name: np.broadcast_to(x, (*run.leading, *core))[index] for (name, x), core in zip(
            arrays.items(), cores, strict=True)}  # fmt: skip

    tolerances = {"rtol": _RELATIVE, "atol": _ABSOLUTE * np.tile(unit_steps(setup.robot.tree), 2)}
    environments = max(1, math.prod(run.leading))
    with Reporter("simulate", progress, "simulating: steps", environments * run.steps) as report:
        for index in np.ndindex(run.leading):
            at, rates = np.array(q[index]), np.array(v[index])
            qs[index][0], vs[index][0] = at, rates
            inputs = own(run.inputs, index, [shape for _, shape in setup.inputs])
            varied = own(run.parameters, index, [shape for _, shape in setup.parameters])
            rows = own(run.signals, index, [(run.steps, *shape) for _, shape in setup.signals])
            shared = {"parameters": varied} if varied else {}
            for k in range(run.steps):
                if status[index] == RUNNING:
                    t = run.h * k
                    acting = {**inputs, **{name: x[k] for name, x in rows.items()}}
                    tau = kernels.command(t=t, q=at, v=rates, **({"inputs": acting} if acting else {}))
                    flat = np.concatenate([np.zeros(len(rates)), rates])
                    result = None
                    if np.isfinite(tau).all():

                        def slope(t: float, x: np.ndarray, at: Any = at, tau: Any = tau, shared: Any = shared) -> Any:
                            return kernels.rates(t=t, q=at, x=x, tau=tau, **shared)

                        result = solve_ivp(slope, (t, t + run.h), flat, method=solver, **tolerances)
                    if result is None or not result.success or not np.isfinite(result.y).all():
                        status[index], stopped[index] = CONTROLLER if result is None else STATE, t
                    else:
                        at, rates = kernels.end(t=t + run.h, q=at, x=result.y[:, -1], **shared)
                if (k + 1) % setup.every == 0:
                    row = (k + 1) // setup.every
                    qs[index][row], vs[index][row] = at, rates
                report.advance()
    t = run.h * setup.every * np.arange(total + 1)
    assert qs.ndim == n + 2
    parameters = run.whole_parameters()
    return Simulation._make(
        setup.robot, t, qs, vs, {}, status, stopped, None, parameters=parameters, passive=setup.passive
    )


def _compiled(setup: SimulationSetup) -> _Kernels:
    robot: Any = setup.robot
    nv = robot.nv

    def dynamics(parameters: Any) -> SimulatedDynamics:
        return SimulatedDynamics.of(setup, parameters, 0.0)

    def rates(t: Any, q: Any, x: Any, tau: Any, parameters: Any = None) -> Any:
        phi, v = dynamics(parameters).system(list(tau)).rates(t, list(q), list(x[:nv]), list(x[nv:]))
        return array([*phi, *v])

    def command(t: Any, q: Any, v: Any, inputs: Any = None) -> Any:
        tau, _, wrenches = commanded(setup, t, SimulationState(0.0, q, v, (), RUNNING), inputs or {})
        if wrenches:
            raise ValueError(f"simulate: method: '{_PREFIX}...' does not support wrenches; choose another method")
        return array(list(tau))

    def end(t: Any, q: Any, x: Any, parameters: Any = None) -> Any:
        moving = dynamics(parameters)
        moved = moving.system([0.0] * nv).moved(list(q), list(x[:nv]))
        result = moving.projected(t, moved, list(x[nv:]))
        return array(list(result[0])), array(list(result[1]))

    state: dict[str, Any] = {"t": (), "q": robot.configuration_space}
    more = {"parameters": dict(setup.parameters)} if setup.parameters else {}
    inputs = dict((*setup.inputs, *setup.signals))
    return _Kernels(
        compile(rates, name="rates", **state, x=(2 * nv,), tau=(nv,), **more),
        compile(command, name="command", **state, v=(nv,), **({"inputs": inputs} if inputs else {})),
        compile(end, name="end", **state, x=(2 * nv,), **more),
    )
