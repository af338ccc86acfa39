"""Table of backends by name. A new backend is a subclass of `linkwork.compiler.backend.Backend` and an entry here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linkwork.compiler.backend import Backend
from linkwork.compiler.codegen.cpu_backend import CPUBackend, host_backend
from linkwork.compiler.codegen.cpu_backend import wait_for_compiler as wait_for_compiler

__all__ = ["ALL", "default_backend", "wait_for_compiler"]

ALL: Mapping[str, Callable[[], Backend[Any]]] = {CPUBackend.name: host_backend}
"""Factories of the backends for this machine, by name."""


def default_backend() -> Backend[Any]:
    """Return the backend that new kernels use: the CPU's."""
    return ALL[CPUBackend.name]()
