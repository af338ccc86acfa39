"""Arguments of simulations: reading and checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.messages import letters, refuse_motion, untimed
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import is_traced, scalars
from linkwork.kernels.array_arguments import ArgumentReader, missing_joints, real_array
from linkwork.kernels.compiler_api import Port
from linkwork.kernels.robot_arguments import stacked_by_joint
from linkwork.model.kernel_parameters import inputs_of, read_parameters
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.simulation.contacts.contact_materials import check_parameter, input_name, is_of_contacts
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.control_output import wrench_frames

MOST_STEPS = 10**10  # maximum number of steps of a simulation
MOST_RECORDED = 2**33  # maximum number of recorded values: 64 GiB

__all__ = [
    "chosen_of",
    "cores_of",
    "for_step",
    "leading_of",
    "over",
    "read_arrays",
    "read_robot_parameters",
    "read_signals",
    "read_state",
    "read_wrenches",
    "replaced_parameters",
    "whole_steps",
]

_NEAR = 1e-6  # excess of a duration over a multiple of the step that is ignored, relative to the step
_SAME = 1e-9  # accepted relative difference of a controller's own time step


def for_step(caller: str, controller: Any, h: float, inner: int) -> Any:
    """Return a controller for evaluations every h [s]; raise ValueError if it has another time step.

    ``inner`` is the number of steps of constant acceleration between two evaluations, 0 if accelerations vary
    continuously.  The
    step of a controller, or of one that it contains as ``law``, is its attribute ``dt`` [s].
    """
    for_this_step = getattr(controller, "_with_step", None)
    result = controller if for_this_step is None else for_this_step(h, inner)
    while controller is not None:
        controller_step = getattr(controller, "dt", None)
        if (
            isinstance(controller_step, (int, float, np.number))
            and controller_step > 0.0
            and abs(float(controller_step) - h) > _SAME * h
        ):
            name = type(controller).__name__
            raise ValueError(
                f"{caller}: controller: expected one for steps of dt · control_every = {h:g} s, got {name} for "
                f"{float(controller_step):g} s; pass dt and control_every with that product, or create it for {h:g} s"
            )
        controller = getattr(controller, "law", None)
    return result


def _core_of(x: Any, leading: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of an array without the leading axes of the batch.

    It is the array's whole shape if this does not begin with the batch's shape.
    """
    n = len(leading)
    return x.shape[n:] if n and x.shape[:n] == leading else x.shape  # type: ignore[no-any-return]


def cores_of(
    caller: str, robot: Any, controller: Any, inputs: Mapping[str, Any], leading: tuple[int, ...]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the shape of each input for a single environment, by name.

    The controller's ``input_shapes`` take precedence.  Raises ValueError for an input that may be a number for each
    environment, or one vector for all.
    """
    shapes = getattr(controller, "input_shapes", None)
    takes: Mapping[str, Any] = shapes if isinstance(shapes, Mapping) else {}
    result = []
    for name, x in inputs.items():
        core = _core_of(x, leading)
        declared = takes.get(name)
        if declared is not None and x.shape in (declared, (*leading, *declared)):
            core = declared
            _check_input(controller, name, x)
        elif len(leading) == 1 and x.shape == leading and leading[0] in (robot.nq, robot.nv):
            n = leading[0]
            raise ValueError(
                f"{caller}: constants[{name!r}]: ({n},) may be a number for each of {n} environments or a vector; "
                f"expected ({n}, 1) for the first, or the vector repeated for each environment, ({n}, {n})"
            )
        result.append((name, core))
    return tuple(result)


def _check_input(controller: Any, name: str, x: Any) -> None:
    """Let a controller of `linkwork.control` check an input."""
    check = getattr(controller, "check_input", None)
    if check is not None:
        check(name, x)


def whole_steps(duration: float, h: float) -> int:
    """Return the number of steps of a duration, up to the next step if it is between two.  Raises ValueError."""
    if duration > h * MOST_STEPS:
        raise ValueError(
            f"simulate: duration: expected at most {MOST_STEPS:g} steps of dt = {h:g} s, got {duration:g} s"
        )
    count = round(duration / h)
    return count if duration - count * h <= _NEAR * h else count + 1


def refuse_too_many(records: int, leading: tuple[int, ...], robot: Any) -> None:
    """Raise ValueError if q and v of all records have more values than `MOST_RECORDED`."""
    count = records * max(math.prod(leading), 1) * (robot.nq + robot.nv)
    if count > MOST_RECORDED:
        raise ValueError(
            f"simulate: duration: expected at most {MOST_RECORDED} values in q and v of all records, got {count} in "
            f"{records} records; increase record_every"
        )


def read_state(caller: str, robot: Any, q: Any, v: Any) -> tuple[Any, Any]:
    """Return q (..., nq), normalised, and v (..., nv), zero by default, from arrays or dicts by joint.

    Raises ValueError for other shapes, and for values that are not finite.
    """
    q, v = stacked_by_joint(robot, caller, "q", q, "q"), stacked_by_joint(robot, caller, "v", v, "v")
    v = np.zeros(robot.nv) if v is None else v
    if is_traced(q) or is_traced(v):
        return scalars(q), scalars(v)
    result = []
    for name, x, size in (("q", q, robot.nq), ("v", v, robot.nv)):
        array = np.asarray(real_array(f"{caller}: {name}: expected an array (..., {size})", x), dtype=float)
        if array.shape[-1:] != (size,):
            raise ValueError(
                f"{caller}: {name}: expected finite numbers (..., {size}), got shape {array.shape}"
                f"{missing_joints(robot._subject, name, array.shape[-1]) if array.ndim else ''}"
            )
        if not np.isfinite(array).all():
            ArgumentReader(robot._subject, caller, (Port(name, (size,)),), ()).refuse_not_finite([array])
        result.append(array)
    return robot.normalize(result[0]), result[1]


def read_arrays(option: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays by name.  Raises ValueError for values that are not finite."""
    if not isinstance(arrays, Mapping):
        raise TypeError(f"simulate: {option}: expected a dict of arrays by name, got {arrays!r}")
    result: dict[str, Any] = {}
    for name, x in arrays.items():
        caller = f"simulate: {option}[{name!r}]"
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"simulate: {option}: expected identifiers as names, got {name!r}")
        result[name] = _finite_or_symbols(caller, x)
    return result


def _finite_or_symbols(caller: str, x: Any) -> Any:
    """Return a value as an array of finite numbers or of symbols."""
    if is_traced(x):
        return scalars(x)
    refuse_motion(f"{caller}: expected an array of numbers", x)
    value = np.asarray(real_array(f"{caller}: expected an array of numbers", x), dtype=float)
    if not np.isfinite(value).all():
        raise ValueError(f"{caller}: expected finite numbers, got {x!r:.60}")
    return value


def read_robot_parameters(
    robot: Any, values: Mapping[str, Any], contacts: ContactSet | None
) -> tuple[tuple[str, ...], dict[str, tuple[int, ...]], dict[str, Any]]:
    """Return names, and two dicts by input name: the shapes of the parameters of a robot and its contacts, and arrays.

    The names are those of `Robot.parameters`, one for each value, however the caller writes them.  Raises ValueError if
    a name denotes several parameters, and UnknownNameError for an unknown name.
    """
    robot_values = [name for name in values if not is_of_contacts(name)]
    inputs = iter(inputs_of(read_parameters(robot.tree, "simulate", robot_values)).items())
    names: list[str] = []
    sizes: dict[str, tuple[int, ...]] = {}
    for name in values:
        if is_of_contacts(name):
            if contacts is None:
                raise ValueError(f"simulate: parameters: {name!r} needs contacts, got none; pass contacts=")
            contacts.check_parameter(robot, name)
            names.append(name)
            sizes[input_name(name)] = ()
            continue
        each = [str(parameter) for parameter in read_parameters(robot.tree, "simulate", name)]
        if len(each) != 1:
            raise ValueError(f"simulate: parameters: expected names of single parameters, got {name!r}: {each}")
        parameter, key = next(inputs)
        names.append(str(parameter))
        sizes[key] = parameter.shape(robot.tree)
    arrays = read_arrays("parameters", dict(zip(sizes, values.values(), strict=True)))
    for name, x in zip(values, arrays.values(), strict=True):
        if is_of_contacts(name):
            check_parameter(name, x)
    return tuple(names), sizes, arrays


def chosen_of(where: Any, leading: tuple[int, ...]) -> np.ndarray:
    """Return the bool array (...) of chosen environments.  Raises ValueError for another type or shape."""
    chosen = np.asarray(where)
    expected = f"Simulator.reset: where: expected a bool array of shape {leading}, one for each environment"
    if chosen.dtype != bool:
        raise ValueError(f"{expected}, got {where!r}; np.isin(np.arange(n), indices) converts indices")
    try:
        return np.broadcast_to(chosen, leading)
    except ValueError:
        raise ValueError(f"{expected}, got shape {chosen.shape}") from None


def over(chosen: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a mask of environments (...) with trailing axes of length 1, so that it broadcasts with x (..., n)."""
    return chosen.reshape(chosen.shape + (1,) * (x.ndim - chosen.ndim))


def replaced_parameters(
    robot: Any,
    present: Mapping[str, Any],
    known: Sequence[str],
    values: Mapping[str, Any],
    where: Any,
    leading: tuple[int, ...],
    contacts: ContactSet | None,
) -> dict[str, Any]:
    """Return parameters by input name, with ``present`` replaced by ``values`` in the environments of ``where``.

    Raises UnknownNameError for a name that is not in ``known``, the parameters of the constructor, and ValueError for
    other shapes and for values that are not finite.
    """
    names, shapes, arrays = read_robot_parameters(robot, values, contacts)
    for name in names:
        if name not in known:
            remedy = f"a Simulator takes those of its constructor: {', '.join(known) or 'none'}"
            raise UnknownNameError("parameter", name, known, remedy)
    result, keys = dict(present), dict(zip(known, present, strict=True))
    inputs = [keys[name] for name in names]
    sizes, new = (dict(zip(inputs, x.values(), strict=True)) for x in (shapes, arrays))
    for name, x in new.items():
        core = sizes[name]
        every, at = (*leading, *core), x.ndim - len(core)
        spread = zip(x.shape[:at][::-1], leading[::-1], strict=False)
        if x.shape[max(at, 0) :] != core or at > len(leading) or any(n not in (1, m) for n, m in spread):
            raise ValueError(
                f"Simulator.reset: parameters[{name!r}]: expected a shape that broadcasts to {every}, got {x.shape}"
            )
        if where is None:
            result[name] = x
            continue
        chosen = chosen_of(where, leading)
        a, b = (np.broadcast_to(y, every) for y in (x, present[name]))
        result[name] = np.where(over(chosen, a), a, b)
    return result


def read_signals(
    signals: Mapping[str, Any], steps: int, h: float, leading: tuple[int, ...], robot: Any, controller: Any
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return time inputs as arrays with a row for each step, and the axis of the steps by name.

    Shapes are (steps, ...) or (*batch, steps, ...).  Trajectories are sampled, as q, v, a, and functions of time.  An
    ambiguous shape has rows for each environment, unless the controller's ``input_shapes`` say otherwise.  Raises
    ValueError for other lengths, and for shape (n, n) with n steps, environments and joints.
    """
    if not isinstance(signals, Mapping):
        raise TypeError(f"simulate: time_inputs: expected a dict of arrays or trajectories by name, got {signals!r}")
    arrays: dict[str, Any] = {}
    sampled = set()
    shapes = getattr(controller, "input_shapes", None)
    takes: Mapping[str, Any] = shapes if isinstance(shapes, Mapping) else {}
    for name, x in signals.items():
        if isinstance(x, Trajectory):
            if not x.is_timed:
                raise ValueError(untimed(f"simulate: time_inputs: {name!r}", x))
            if name in takes and f"{name}_q" not in takes:
                end = f": name it {name[:-2]!r}" if name.endswith("_q") else ""
                raise ValueError(
                    f"simulate: time_inputs[{name!r}]: expected {takes[name]} for each step, got {x!r}, which provides "
                    f"NAME_q, NAME_v and NAME_a{end}"
                )
            state = x(h * np.arange(steps), outside="hold")
            arrays |= {f"{name}_q": state.q, f"{name}_v": state.v, f"{name}_a": state.a}
            sampled |= {f"{name}_{part}" for part in "qva"}
        elif callable(x):
            arrays[name] = [x(float(t)) for t in h * np.arange(steps)]
        else:
            arrays[name] = x
    result = read_arrays("time_inputs", arrays)
    axes = {}
    for name, x in result.items():
        n, declared = len(leading), takes.get(name)
        of_all, of_each = x.shape[:1] == (steps,), n > 0 and x.shape[: n + 1] == (*leading, steps)
        if not (of_all or of_each):
            raise ValueError(
                f"simulate: time_inputs[{name!r}]: expected a row for each of {steps} steps, ({steps}, ...), or each "
                f"environment ({', '.join(map(str, (*leading, steps)))}, ...), got {x.shape}"
            )
        if name in sampled or (of_all and declared is not None and x.shape[1:] == declared):
            of_each = False
        elif of_all and of_each and declared is None and x.shape == (steps, steps) and steps in (robot.nq, robot.nv):
            raise ValueError(
                f"simulate: time_inputs[{name!r}]: ({steps}, {steps}) may be a number for each step of {steps} "
                f"environments, or a vector for each step; expected ({steps}, {steps}, 1) for the first, or vectors "
                f"for each environment, ({steps}, {steps}, {steps})"
            )
        axes[name] = n if of_each else 0
        if declared is not None and x.shape[axes[name] + 1 :] == declared:
            _check_input(controller, name, x)
    return result, axes


def read_joint_forces(caller: str, robot: Any, tau: Any) -> dict[str, Any]:
    """Return joint forces (..., nv) under their name, zero where ``tau`` is None.  Raises ValueError."""
    tau = np.zeros(robot.nv) if tau is None else stacked_by_joint(robot, caller, "tau", tau, "tau")
    result = read_arrays("constants", {"tau": tau})
    if result["tau"].shape[-1:] != (robot.nv,):
        raise ValueError(
            f"{caller}: tau: expected joint forces (..., {robot.nv}) [N·m, N], got shape {result['tau'].shape}"
            f"{missing_joints(robot._subject, 'tau', result['tau'].shape[-1]) if result['tau'].ndim else ''}"
        )
    return result


class ExternalWrenches(NamedTuple):
    """External wrenches: a (frame, axes, name) for each, and the arrays by name.

    ``constant`` are wrenches (..., 6) that do not change, and ``rows`` those with a row for each step.
    """

    names: tuple[tuple[str, str, str], ...]
    constant: dict[str, Any]
    rows: dict[str, Any]
    axes: dict[str, int]  # axis of the steps, by name of rows


def read_wrenches(
    robot: Any, wrenches: Any, expressed_in: Any, steps: int, leading: tuple[int, ...], taken: Iterable[str]
) -> ExternalWrenches:
    """Read external wrenches: (6,) or (*batch, 6) are constant, (steps, 6) or (*batch, steps, 6) vary by step.

    Raises TypeError, ValueError and UnknownNameError for wrong wrenches, ValueError for an ambiguous shape.
    """
    frames = wrench_frames("simulate", robot, wrenches, expressed_in)
    used, names, constant, rows = set(taken), [], dict[str, Any](), dict[str, Any]()
    for frame, axes in frames:
        caller, name = f"simulate: wrenches[{frame!r}]", letters(f"wrench_{frame}")
        if callable(wrenches[frame]):
            remedy = (
                f"pass ({steps}, 6), a row for each step, or return ControlOutput(tau, wrenches=...) of a controller"
            )
            raise TypeError(f"{caller}: expected an array of numbers, got a function; {remedy}")
        x = _finite_or_symbols(caller, wrenches[frame])
        while name in used:
            name += "_"
        used.add(name)
        names.append((frame, axes, name))
        constant_shape = x.shape in ((6,), (*leading, 6))
        by_step = x.shape in ((steps, 6), (*leading, steps, 6))
        if constant_shape and by_step and x.shape != (6,):
            raise ValueError(
                f"{caller}: {x.shape} may be a wrench for each environment or for each step; expected "
                f"({', '.join(map(str, (*leading, steps)))}, 6) for each step of each environment"
            )
        if not (constant_shape or by_step):
            raise ValueError(
                f"{caller}: expected (moment; force) of shape (..., 6), or ({steps}, 6) with a row for each step, got "
                f"{x.shape}"
            )
        (constant if constant_shape else rows)[name] = x
    return ExternalWrenches(tuple(names), constant, rows, {name: x.ndim - 2 for name, x in rows.items()})


def leading_of(q: Any, v: Any, parameters: Mapping[str, tuple[Any, tuple[int, ...]]]) -> tuple[int, ...]:
    """Return the shape of the batch: the leading axes of q, v and parameters.

    Raises ValueError if these do not broadcast.
    """
    shapes = [q.shape[:-1], v.shape[:-1]]
    for name, (x, core) in parameters.items():
        if x.shape[x.ndim - len(core) :] != core:
            raise ValueError(
                f"simulate: parameters[{name!r}]: expected (..., {', '.join(map(str, core))}), got {x.shape}"
            )
        shapes.append(x.shape[: x.ndim - len(core)])
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"simulate: q, v and parameters: expected batches that broadcast, got {shapes}") from None
