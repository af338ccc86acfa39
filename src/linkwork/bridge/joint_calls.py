"""What users hand to a joint's functions, made ready for a kernel or refused with a reason that names the joint."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._user import levels_up
from ..algorithms.joint_functions import CONFIGURATIONS, INPUTS, Site
from ..errors import ConfigurationWarning
from ..joints.checked import EXACT, NEAR
from .arguments import real_array
from .joint_kernels import joint_kernel
from .kernels import Port, call_state, single_call

__all__ = ["checked_joint_call"]


def checked_joint_call(joint: str, name: str, site: Site) -> Callable[..., Any]:
    """A joint function's call: explains what is wrong with arguments, refuses NaN, and keeps q on its manifold.

    Plain arrays of one sample go straight to compiled code where the type's configurations are all of R^nq.
    """
    if site.type.nq != site.type.nv and name != "normalize_configuration":
        return _guarded(joint, name, site)
    kernel = joint_kernel(name, site)
    asked = _Asked(joint, name, kernel.inputs)
    state = call_state(kernel)
    unchecked = any(port.size == 0 for port in kernel.inputs)  # NumPy takes any size there

    def call(*arguments: Any, out: Any = None) -> Any:
        if unchecked or out is not None:
            arguments = tuple(asked.prepared(arguments))
        if out is not None:
            asked.refuse_nan(arguments)
            return kernel(*arguments, out=out)
        seen = state.nan_calls
        try:
            result = kernel(*arguments)
        except (TypeError, ValueError):
            arguments = tuple(asked.prepared(arguments))
            result = kernel(*arguments)
        if state.nan_calls != seen:
            asked.refuse_nan(arguments)
        return result

    if site.type.nq != site.type.nv:
        return _refusing_the_centre(asked, call)
    return call if unchecked else single_call(kernel, call)


def _guarded(joint: str, name: str, site: Site) -> Callable[..., Any]:
    """The call where configurations lie on a manifold; the kernel tells how far off they are."""
    kernel = joint_kernel(name, site, guarded=True)
    asked = _Asked(joint, name, kernel.inputs)
    guard, state = _Guard(asked, site), call_state(kernel)

    def call(*arguments: Any, out: Any = None) -> Any:
        if out is None:
            seen = state.nan_calls
            try:
                *results, off = kernel(*arguments)
            except (TypeError, ValueError):
                off = math.nan  # for `prepared` to explain
            if bool(off <= EXACT) if np.ndim(off) == 0 else (off <= EXACT).all():
                if state.nan_calls != seen:
                    asked.refuse_nan(arguments)
                return results[0] if len(results) == 1 else tuple(results)
        arguments = guard.on_manifold(tuple(asked.prepared(arguments)))
        if out is not None:
            return kernel(*arguments, out=(out, None))[0]
        *results, _ = kernel(*arguments)
        return results[0] if len(results) == 1 else tuple(results)

    return call


class _Asked:
    """Which function of which joint is asked for, and what it takes."""

    def __init__(self, joint: str, name: str, ports: tuple[Port, ...]) -> None:
        self.label, self.ports = f"joint {joint!r}: {name}", ports

    def prepared(self, arguments: tuple[Any, ...]) -> list[np.ndarray]:
        """The arguments as arrays of the right core shape.  Raises ValueError where a type or shape is wrong."""
        arrays = []
        for port, x in zip(self.ports, arguments, strict=True):
            shape = ", ".join(["...", *map(str, port.shape)])
            doc = INPUTS[port.name][1]
            expected = f"{self.label}: {port.name}: expected an array of shape ({shape}), the {doc}"
            array = real_array(expected, x)
            count = array.ndim - len(port.shape)
            if count < 0 or array.shape[count:] != port.shape:
                raise ValueError(f"{expected}; got shape {array.shape}{_shown(array)}")
            arrays.append(array)
        try:
            np.broadcast_shapes(*(a.shape[: a.ndim - len(p.shape)] for p, a in zip(self.ports, arrays, strict=True)))
        except ValueError:
            shapes = ", ".join(f"{port.name} {a.shape}" for port, a in zip(self.ports, arrays, strict=True))
            raise ValueError(f"{self.label}: the leading dimensions do not broadcast together: {shapes}") from None
        return arrays

    def refuse_nan(self, arguments: tuple[Any, ...]) -> None:
        """Raise ValueError if an argument has a NaN, saying where the first one is."""
        for port, x in zip(self.ports, arguments, strict=True):
            array = np.asarray(x, dtype=np.float64)
            if array.size and math.isnan(array.max()):
                place = ", ".join(str(int(k)) for k in np.argwhere(np.isnan(array))[0])
                raise ValueError(f"{self.label}: {port.name}[{place}] is NaN")


class _Guard:
    """Configurations that are off their manifold: a quaternion that is not unit, say."""

    def __init__(self, asked: _Asked, site: Site) -> None:
        self.asked, self.site = asked, site

    def on_manifold(self, arguments: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """The arguments, their configurations normalised with a warning where they are a little off.

        Raises ValueError where one is further off than `NEAR`.
        """
        self.asked.refuse_nan(arguments)
        return tuple(
            self._near(port.name, x) if port.name in CONFIGURATIONS else x
            for port, x in zip(self.asked.ports, arguments, strict=True)
        )

    def _near(self, name: str, q: np.ndarray) -> np.ndarray:
        off = np.asarray(joint_kernel("off_manifold", self.site)(q))
        if np.all(off <= EXACT):
            return q
        at = np.unravel_index(int(np.argmax(np.where(np.isfinite(off), off, np.inf))), off.shape)
        worst = float(off[at])
        index = f"[{', '.join(str(int(k)) for k in at)}]" if at else ""
        what = f"{self.asked.label}: {name}{index} = {_listed(q[at])}"
        if not worst <= NEAR:
            off_by = f"off by {worst:.3g}, more than {NEAR:g}" if math.isfinite(worst) else "near none of them"
            raise ValueError(
                f"{what} is no configuration of a {self.site.type.type_name()} joint: {off_by}. "
                f"normalize_configuration gives the nearest one"
            )
        warnings.warn(
            f"{what} is off the configurations of a {self.site.type.type_name()} joint by {worst:.3g}: normalised",
            ConfigurationWarning,
            stacklevel=levels_up(),
        )
        return np.asarray(joint_kernel("normalize_configuration", self.site)(q))


def _refusing_the_centre(asked: _Asked, call: Callable[..., Any]) -> Callable[..., Any]:
    """`normalize_configuration`, which has no answer where every configuration is as near as any other."""

    def normalize(q: Any, *, out: Any = None) -> Any:
        result = call(q)
        if not np.all(np.isfinite(result)):
            values = np.asarray(q, dtype=np.float64)
            at = tuple(np.argwhere(~np.isfinite(np.asarray(result)))[0][:-1])
            raise ValueError(f"{asked.label}: q = {_listed(values[at])} has no nearest configuration")
        return result if out is None else call(q, out=out)

    return normalize


def _listed(values: Any) -> str:
    return "[" + ", ".join(f"{float(x):.6g}" for x in np.ravel(values)) + "]"


def _shown(array: np.ndarray) -> str:
    return f": {_listed(array)}" if array.ndim <= 1 and array.size <= 12 else ""
