"""The bridge for one joint: how a joint type and the table of joint functions become kernels.

Like `linkwork.bridge.kernels`, it is where the robots' tower meets the compiler.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from .._locks import Lock
from ..algorithms.joint_functions import CONFIGURATIONS, INPUTS, TABLE, JointFunction, Site
from ..compiler.build import Recipe
from ..compiler.kernel import Kernel
from ..compiler.program import Port, Program
from ..compiler.trace import quiet_collector
from ..expr.symbol import Graph
from .kernels import elements_of, pose_numbers, written_here

__all__ = ["CACHED", "joint_kernel"]

CACHED = 512  # kernels kept for joints made later of equal types

_kernels: OrderedDict[Hashable, Kernel] = OrderedDict()
_lock = Lock()


def joint_kernel(name: str, site: Site, guarded: bool = False) -> Kernel:
    """The kernel of a function for a site: the same one for equal types, as long as it is kept.

    Guarded, it has one more output: how far its configurations are from the manifold.
    """
    row = _guarded(TABLE[name]) if guarded else TABLE[name]
    if not row.of_links:
        site = Site(site.type)
    key = (name, guarded, site.type, repr(site.type), _place(site))
    try:
        with _lock:
            found = _kernels.get(key)
            if found is not None:
                _kernels.move_to_end(key)
                return found
    except TypeError:  # a type of someone's that cannot be hashed
        return _compiled(row, site)
    kernel = _compiled(row, site)
    with _lock:
        kernel = _kernels.setdefault(key, kernel)
        while len(_kernels) > CACHED:
            _kernels.popitem(last=False)
    return kernel


def _guarded(row: JointFunction) -> JointFunction:
    def compute(site: Site, *inputs: Any) -> Any:
        found = row.compute(site, *inputs)
        distance = TABLE["off_manifold"].compute
        off: Any = 0.0  # a sum, which is NaN where one of them is
        for key, values in zip(row.inputs, inputs, strict=True):
            if key in CONFIGURATIONS:
                off = off + distance(site, values)
        return (*found, off) if len(row.outputs) > 1 else (found, off)

    return replace(row, compute=compute, outputs=(*row.outputs, ("off_manifold", ())))


def _place(site: Site) -> tuple[Any, ...]:
    return repr(pose_numbers(site.placement)), repr(pose_numbers(site.rotor)), site.swapped


def _compiled(row: JointFunction, site: Site) -> Kernel:
    joint = site.type
    sizes = {"nq": joint.nq, "nv": joint.nv, "nc": 6 - joint.nv}

    def port(key: str, shape: tuple[int | str, ...]) -> Port:
        return Port(key, tuple(n if isinstance(n, int) else sizes[n] for n in shape))

    inputs = tuple(port(key, INPUTS[key][0]) for key in row.inputs)
    outputs = tuple(port(key, shape) for key, shape in row.outputs)

    def trace() -> Program:
        with quiet_collector():
            graph = Graph()
            symbols = [graph.inputs(p.name, p.shape) for p in inputs]
            result = row.compute(site, *symbols)
            results = result if len(outputs) > 1 else (result,)
            named = [(p, elements_of(part)) for p, part in zip(outputs, results, strict=True)]
            for p, numbers in named:
                if len(numbers) != p.size:
                    kind = type(joint).__name__
                    raise ValueError(f"{kind}: expected {p.size} numbers of {row.name}, got {len(numbers)}")
            return Program.of(row.name, list(zip(inputs, symbols, strict=True)), named)

    content = None
    if written_here(joint):
        content = ("joint", row.name, str(len(outputs)), type(joint).__qualname__, repr(joint), *map(str, _place(site)))
    recipe = Recipe(row.name, inputs, outputs, trace, content, (("joint", joint.type_name()),))
    return Kernel(recipe, doc=row.doc)
