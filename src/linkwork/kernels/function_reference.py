"""Functions of a robot or a joint as objects that pickle: by the model and the request, without machine code.

Another process compiles the function, or loads its code from the cache on disk.  It does so once for each function,
whatever number of copies it receives.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from linkwork.kernels.function_origin import data_of
from linkwork.kernels.function_request import Request
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.owners import JointOwner, KernelOwner, RobotOwner

__all__ = ["FunctionReference"]

CAPACITY = 64  # functions that a process stores
_restored: LazyCache[FunctionReference] = LazyCache(CAPACITY)
Maker = Callable[[KernelOwner, Request], Callable[..., Any]]


class FunctionReference:
    """A function of a robot or a joint: called with arrays, it checks and computes as the method does.

    ``make`` returns the function's call for an owner and a request; it is a function of a module, and pickles by name.
    ``call`` is this call in this process, if it exists already.
    """

    __slots__ = ("_call", "_make", "_pickled", "_request", "_subject")

    def __init__(
        self, subject: KernelOwner, request: Request, make: Maker, call: Callable[..., Any] | None = None
    ) -> None:
        self._subject, self._request, self._make, self._call = subject, request, make, call
        self._pickled: bytes | None = None

    def __call__(self, *arrays: Any) -> Any:
        call = self._call
        if call is None:
            call = self._call = self._make(self._subject, self._request)
        return call(*arrays)

    def pickled(self) -> bytes:
        """Return the owner and the request as bytes, equal for equal functions."""
        if self._pickled is None:
            owner = data_of(self._subject)
            self._pickled = pickle.dumps((owner, self._request, self._make), protocol=5)
        return self._pickled

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored_from, (self.pickled(),)


def _restored_from(pickled: bytes) -> FunctionReference:
    """Return the function whose `FunctionReference.pickled` are these bytes; the same object for the same bytes."""

    def make() -> FunctionReference:
        owner, request, maker = pickle.loads(pickled)
        rows = MappingProxyType({request.spec.name: request.spec})
        is_joint = isinstance(owner, tuple)
        subject: KernelOwner = JointOwner(owner[0], owner[1], rows) if is_joint else RobotOwner(owner, rows)
        return FunctionReference(subject, request, maker)

    return _restored.get(pickled, make)
