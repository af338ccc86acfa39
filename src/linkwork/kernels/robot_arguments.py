"""Checks of arguments that need a robot: configurations, and values by joint; arguments of random configurations.

Checks without a robot are in `linkwork._util.validation`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from linkwork._util.array_collections import is_collection
from linkwork._util.validation import finite_array, floats
from linkwork.errors import UnknownNameError
from linkwork.kernels.array_arguments import POSE_REMEDY, ArgumentReader, ArrayOf, real_array, scalar_array, stacked
from linkwork.kernels.compiler_api import Port
from linkwork.kernels.owners import has_symbols
from linkwork.model.coordinate_names import index_of
from linkwork.model.function_spec import quantity_of
from linkwork.model.tree import Tree
from linkwork.spatial.arguments import is_like_pose

__all__ = [
    "Size",
    "by_joint",
    "generator_of",
    "leading_of",
    "read_configuration",
    "read_limits",
    "refuse_symbols",
    "stacked_by_joint",
]


def read_configuration(robot: Any, caller: str, argument: str, q: Any) -> np.ndarray:
    """Return a configuration, or a batch, as an array on the configuration manifold.

    Raises the errors of methods of robots, such as ValueError for an array off the manifold, with ``argument`` as the
    argument's name, and TypeError for arrays of Dask or xarray.  A pose (4, 4) is not a batch of four configurations:
    it raises ValueError, too.
    """
    if robot.nq == 4 and is_like_pose(q):
        raise ValueError(f"{caller}: {argument}: expected a configuration (..., 4), got a pose (4, 4); {POSE_REMEDY}")
    is_array = type(q) is np.ndarray and q.dtype == float and q.shape[-1:] == (robot.nq,)
    if is_array and not robot._subject.checked_joints and np.isfinite(q).all():  # the usual case
        return np.array(q)
    if is_collection(q):
        kind = f"{type(q).__module__.partition('.')[0]}'s {type(q).__name__}"
        raise TypeError(
            f"{caller}: {argument}: expected an array of NumPy, got {kind}; pass its computed values, or call {caller} "
            f"block by block in map_blocks"
        )
    reader = ArgumentReader(robot._subject, caller, (Port("q", (robot.nq,)),), ())
    try:
        arrays = reader.prepared((q,))
        reader.refuse_not_finite(arrays)
        (result,) = reader.on_manifold(arrays)
    except UnknownNameError as error:
        raise error.at(f"{caller}: {argument}") from None
    except ValueError as error:
        text = str(error)
        is_named = text.startswith(f"{caller}: q")
        raise ValueError(
            text.replace(f"{caller}: q", f"{caller}: {argument}", 1) if is_named else f"{caller}: {argument}: {text}"
        ) from None
    return np.array(result, dtype=float)


def refuse_symbols(caller: str, robot: Any) -> None:
    """Raise TypeError for a robot with symbols among its parameters, which has no numbers."""
    if has_symbols(robot._subject):
        raise TypeError(f"{caller}: robot {robot.name!r} has symbolic parameters; give them values")


def stacked_by_joint(
    robot: Any, caller: str, argument: str, value: Any, quantity: str, array_of: ArrayOf = scalar_array
) -> Any:
    """Return a dict by joint of values of q, v or tau as an array (..., nq) or (..., nv); other values unchanged.

    Joints that the dict leaves out are at their zero configuration, or have zero rates and forces.  The name of a
    configuration is accepted as q.  Raises ValueError, and UnknownNameError for an unknown joint or configuration.
    """
    if not isinstance(value, (Mapping, str, list, tuple)):
        return value
    try:
        return stacked(robot._subject, quantity_of(quantity), value, array_of)
    except UnknownNameError as error:
        raise error.at(f"{caller}: {argument}") from None
    except ValueError as error:
        raise ValueError(f"{caller}: {argument}{str(error).removeprefix(quantity)}") from None


def by_joint(
    caller: str,
    argument: str,
    tree: Tree,
    value: Any,
    *,
    default: float | np.ndarray,
    least: float | None = None,
    above: float | None = None,
    unit: str = "",
    infinite: bool = False,
) -> np.ndarray:
    """Return a value (nv,) for each coordinate of v, finite unless ``infinite``.

    ``value`` is one number for all coordinates, an array (nv,), or a dict by joint or coordinate of v.  Coordinates
    that the dict leaves out have the value ``default``. ``least`` is an inclusive and ``above`` an exclusive lower
    bound.
    """
    result = np.array(np.broadcast_to(default, tree.nv), dtype=float)
    if isinstance(value, Mapping):
        for name, joint_value in value.items():
            try:
                indices = index_of(tree, "v", [name])
            except UnknownNameError as error:
                raise error.at(f"{caller}: {argument}") from None
            result[indices] = _values(
                caller, f"{argument}[{name!r}]", joint_value, len(indices), least, above, unit, infinite
            )
    else:
        result[:] = _values(caller, argument, value, tree.nv, least, above, unit, infinite)
    return result


def _values(
    caller: str,
    argument: str,
    value: Any,
    count: int,
    least: float | None,
    above: float | None,
    unit: str,
    infinite: bool,
) -> np.ndarray:
    array = finite_array(caller, argument, value, unit=unit, infinite=infinite)
    expected = "a number" if count == 1 else f"a number, or an array of shape ({count},)"
    if array.shape not in ((), (count,)):
        raise ValueError(f"{caller}: {argument}: expected {expected}, got shape {array.shape}")
    wrong = (array <= above) if above is not None else (array < least) if least is not None else np.zeros(1, bool)
    if wrong.any():
        bound = f"> {above:g}" if above is not None else f">= {least:g}"
        got = array[wrong].flat[0] if array.ndim else float(array)
        raise ValueError(f"{caller}: {argument}: expected numbers {bound}{f' [{unit}]' if unit else ''}, got {got:g}")
    return array


def read_limits(caller: str, robot: Any, position_limits: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds of q: the robot's by default; infinite for False.

    ``position_limits`` may be two arrays (nq,), or a dict of pairs (lower, upper) by joint or coordinate, which are
    combined with the robot's limits.  Raises ValueError for an empty range, UnknownNameError for an unknown name.
    """
    lower, upper = np.array(robot.lower, dtype=float), np.array(robot.upper, dtype=float)
    if position_limits is False:
        return np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
    if isinstance(position_limits, Mapping):
        position_limits = _limits_by_name(caller, robot, position_limits)
    if position_limits is not None and position_limits is not True:
        try:
            low, high = (floats(x) for x in position_limits)
            low, high = np.broadcast_to(low, (robot.nq,)), np.broadcast_to(high, (robot.nq,))
        except (TypeError, ValueError):
            raise ValueError(
                f"{caller}: position_limits: expected (lower, upper), two arrays of shape ({robot.nq},), a "
                f"dict of pairs by joint, or False, got {position_limits!r}"
            ) from None
        if np.isnan(low).any() or np.isnan(high).any():
            raise ValueError(f"{caller}: position_limits: expected no NaN, got {position_limits!r}")
        lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    tree = robot.tree
    for k, body in tree.stacked():
        index = tree.q_slices[k]
        if (lower[index] > upper[index]).any():
            raise ValueError(
                f"{caller}: position_limits: joint {body.joint_name!r} has an empty range: "
                f"lower {lower[index].tolist()} > upper {upper[index].tolist()}"
            )
    return lower, upper


def _limits_by_name(caller: str, robot: Any, limits: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return position limits, pairs by joint or coordinate, as two arrays (nq,); missing limits are infinite."""
    lower, upper = np.full(robot.nq, -np.inf), np.full(robot.nq, np.inf)
    known = {*robot.q_names, *(joint.name for joint in robot.joints)}
    for name, pair in limits.items():
        if name not in known:
            raise UnknownNameError("coordinate of q", str(name), sorted(known)).at(f"{caller}: position_limits")
        try:
            low, high = pair
        except (TypeError, ValueError):
            raise ValueError(f"{caller}: position_limits: {name!r}: expected (lower, upper), got {pair!r}") from None
        indices = robot.q_index([name])
        _put(lower, indices, f"{caller}: position_limits: {name!r}: lower", low)
        _put(upper, indices, f"{caller}: position_limits: {name!r}: upper", high)
    return lower, upper


def _put(result: np.ndarray, indices: np.ndarray, argument: str, x: Any) -> None:
    """Assign a number, or an array of numbers, to entries of ``result``.  Raises ValueError for other values."""
    expected = f"{argument}: expected a number" + (f", or {len(indices)} of them" if len(indices) > 1 else "")
    values = real_array(expected, x)
    if values.shape not in ((), indices.shape):
        raise ValueError(f"{expected}, got {x!r}")
    result[indices] = values


Size = int | tuple[int, ...] | None


def generator_of(rng: np.random.Generator | None, seed: int | None) -> np.random.Generator:
    """Return the given generator, one with the seed, or a new one.

    Raises TypeError if ``rng`` is an integer, which could be a seed or a size, and if both arguments are passed.
    """
    if rng is not None and not isinstance(rng, np.random.Generator):
        if isinstance(rng, (int, np.integer)):
            message = f"{rng} could be a seed or a size: write seed={rng} or size={rng}"
        else:
            message = f"expected a numpy.random.Generator, such as numpy.random.default_rng(0), got {rng!r}"
        raise TypeError(f"random_configuration: {message}")
    if rng is None:
        try:
            return np.random.default_rng(seed)
        except (TypeError, ValueError) as error:
            message = f"seed: expected an integer >= 0, or a generator, got {seed!r}"
            raise type(error)(f"random_configuration: {message}") from None
    if seed is not None:
        raise TypeError(f"random_configuration: expected a generator or a seed, got both, with seed={seed!r}")
    return rng


def leading_of(size: Size) -> tuple[int, ...]:
    """Return the leading dimensions of a size: None, an integer or a tuple.

    Raises ValueError for a negative dimension, TypeError for one that is not an integer.
    """
    try:
        sizes = () if size is None else size if isinstance(size, Iterable) else (size,)
        shape = tuple(operator.index(n) for n in sizes)
    except TypeError:
        expected = "an integer or a tuple of integers"
        raise TypeError(f"random_configuration: size: expected {expected}, got {size!r}") from None
    if any(n < 0 for n in shape):
        raise ValueError(f"random_configuration: size: expected integers >= 0, got {size!r}")
    return shape
