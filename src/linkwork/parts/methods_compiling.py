"""Kernels of a robot's functions, one or several together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from linkwork._util.thread_pool__parallel import in_parallel
from linkwork.kernels.compiler_api import Kernel, make_ready
from linkwork.kernels.function_request import Request, read_request, read_requests
from linkwork.kernels.robot_base import RobotBase
from linkwork.model.kernel_parameters import read_parameters

__all__ = ["CompilingMethods"]


class CompilingMethods(RobotBase):
    """What makes kernels before they are needed, or of several functions."""

    __slots__ = ()

    def compile(self, functions: Any, *, parameters: str | Iterable[str] = (), name: str | None = None) -> Kernel:
        """A kernel for one or several of the robot's functions, which then share all common work.

        ``functions`` is a name (``"mass_matrix"``), a name with a frame (``("jacobian", "hand")``, and options as
        ``("jacobian", "hand", {"expressed_in": "hand"})``), a list of such, or a dict of such that names the outputs.
        The kernel takes the inputs that any of them take, in the order q, v, a, tau; several results come as a named
        tuple.  In a list, a function asked for once is named as it is, and otherwise with its frame:
        ``jacobian_left_foot``.

        ``parameters`` are numbers of the robot that the kernel takes as inputs too, after the others and in this order:
        ``["inertia:forearm", "gravity"]`` gives it the inputs ``inertia_forearm`` and ``gravity``.  They broadcast and
        are differentiated as all inputs are; `parameters` lists what there is, and gives the robot's own numbers.

        Unlike the robot's methods, a kernel lets NaN and infinity pass through as IEEE 754 has it.
        """
        requests = read_requests(self._subject, "compile", functions)
        asked = read_parameters(self._tree, "compile", parameters)
        if asked:
            requests = {key: replace(request, parameters=asked) for key, request in requests.items()}
        if name is not None and not name.isidentifier():
            raise ValueError(f"compile: name: expected an identifier as the name of the kernel, got {name!r}")
        return self._kernel(name or "_".join(requests), requests)

    def warm_up(self, functions: Sequence[Any], *, progress: bool | None = None) -> None:
        """Compile functions before they are needed, several at a time.

        ``functions`` is a list of what `compile` takes one of: ``["inverse_dynamics", ("jacobian", "hand")]``.  The
        robot's methods are then ready for use.  What the cache on disk holds is not compiled.  ``progress`` says
        whether standard error shows how far it is; by itself it does where that is a terminal.

        Raises what `compile` raises for a function that it does not know, before anything is compiled, and
        SingularInertiaError as the functions do.
        """
        if isinstance(functions, (str, Mapping)) or not isinstance(functions, Iterable):
            raise TypeError(f"warm_up: expected a list of functions, got {functions!r}")
        requests = list(dict.fromkeys(read_request(self._subject, asked) for asked in functions))
        in_parallel([partial(self._warmed_up, request) for request in requests], "compiling", progress)

    def _warmed_up(self, request: Request) -> None:
        """A method's code, for single calls and for batches."""
        self._prepared(request)
        make_ready(self._kernel(request.label, {request.label: request}))
