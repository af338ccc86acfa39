"""A kernel's call with one array for each port, as an object that pickles with the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

__all__ = ["FlatCall", "flat_call_of"]


class FlatCall:
    """The call of a kernel with one array for each port, without nested arguments; it pickles if the kernel does."""

    __slots__ = ("kernel",)

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __call__(self, *arrays: Any) -> Any:
        return self.kernel._general(*arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        return FlatCall, (self.kernel,)


def flat_call_of(kernel: Any) -> Callable[[], FlatCall | None]:
    """Return a function that returns the kernel's flat call, or None if the kernel was deleted."""
    reference = ref(kernel)

    def call() -> FlatCall | None:
        kernel = reference()
        return None if kernel is None else FlatCall(kernel)

    return call
