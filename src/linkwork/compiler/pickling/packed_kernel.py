"""The content of a kernel's pickle, and the sources from which its program can be rebuilt."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from linkwork._util.lazy_dataclass import dataclass

__all__ = ["DerivativeOrigin", "FunctionOrigin", "Packed"]


class Packed(NamedTuple):
    """The content of a kernel's pickle."""

    digest: bytes  # equal for equal kernels, whatever the process
    head: bytes
    body: bytes
    objects: tuple[Any, ...]  # pickled by the caller's pickle: classes of nested values, and rules of the user


class FunctionOrigin(Protocol):
    """Robot or joint with a function request, from which a kernel can be rebuilt."""

    def packed(self) -> bytes | None:
        """Return the origin as bytes; None if the other process could not make the kernel from them."""


@dataclass(frozen=True, eq=False)
class DerivativeOrigin:
    """The kernel that was differentiated, and the request: the method's name, ``by``, ``of`` and the options."""

    base: Any  # a `Kernel`
    request: tuple[str, tuple[str, ...], Any, tuple[Any, ...]]
