"""Compilation of kernels' code before their first call, at once or in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from linkwork.compiler.backends import default_backend
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.kernel_code import KernelCode, make_in_background
from linkwork.compiler.runtime.loop_state import FEW

__all__ = ["make_call_ready", "make_ready", "make_ready_later"]


def make_call_ready(kernels: Iterable[Kernel], later: Iterable[Callable[[], Kernel]], samples: int) -> None:
    """Compile the code of a call that must not wait: ``kernels`` at once, other kernels in the background.

    ``later`` are functions that return the other kernels.  ``samples`` is the largest number of samples in a call.
    """
    for kernel in kernels:
        make_ready(kernel, samples=samples)
    for function in later:
        make_ready_later(function, samples=samples)


def make_ready(kernel: Kernel, best: bool = False, samples: int | None = None) -> None:
    """Compile all code that calls with float64 may need; with ``best`` optimized code, otherwise quick code.

    ``samples`` is the largest number of samples in a call; None stands for any number.
    """
    few = [kernel._source.backend.few_entry] if _has_few(kernel, samples) else []
    kernel._code.make([*_needed_entries(kernel, samples), *few], best=best)
    if few:
        kernel._general.loops[0].make_few()
    else:
        kernel._general.loops[0].make(best=best)


def make_ready_later(kernel: Callable[[], Kernel], samples: int | None = None) -> None:
    """Compile, in the background, the code that `make_ready` compiles, for the kernel that ``kernel()`` returns.

    A call that needs the code earlier compiles it.  If compilation in the background is impossible, this function
    compiles the code at once.
    """
    backend = default_backend()
    if backend.quick is None:
        make_ready(kernel(), samples=samples)
        return

    def code_and_entries() -> tuple[KernelCode, Sequence[str]]:
        built = kernel()
        few = [backend.few_entry] if _has_few(built, samples) else []
        return built._code, [*_needed_entries(built, samples), *few]

    make_in_background(code_and_entries, backend)


def _needed_entries(kernel: Kernel, samples: int | None) -> list[str]:
    """Return the entries that calls with float64, of at most this number of samples, may need."""
    backend, few = kernel._source.backend, _has_few(kernel, samples)
    return [name for name in backend.entries if not (few and name == backend.batch_entry)]


def _has_few(kernel: Kernel, samples: int | None) -> bool:
    """Return True if calls of at most this number of samples have an entry without code for vectors."""
    return samples is not None and samples < FEW and bool(kernel._source.backend.few_entry)
