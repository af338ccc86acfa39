"""Recipes of kernels, their origins in pickles, and the source of their code: traced, optimized and laid out."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from linkwork._util.collection_pauses import without_collections
from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.thread_safety import Lock
from linkwork.compiler.backend import Backend, Lowered, Module, symbol_prefix
from linkwork.compiler.cache.disk_cache import digest, own_state
from linkwork.compiler.codegen.float_type import DOUBLE, FloatType
from linkwork.compiler.port import Port

if TYPE_CHECKING:
    from linkwork.compiler.program import Program

__all__ = ["DEBUG", "DerivativeOrigin", "Packed", "Recipe", "Source", "is_debugging"]

DEBUG = "LINKWORK_DEBUG"


class Packed(NamedTuple):
    """The content of a kernel's pickle: a digest, a head and a body as bytes, and further objects.

    The head describes the kernel's call, and the body its origin (see `linkwork.compiler.pickling.kernel_pickle`).
    """

    digest: bytes  # equal for equal kernels, whatever the process
    head: bytes
    body: bytes
    objects: tuple[Any, ...]  # pickled by the caller's pickle: classes of nested values, and rules of the user


class FunctionOrigin(Protocol):
    """The robot or joint, and the request for one of its functions, from which a kernel can be rebuilt."""

    def packed(self) -> bytes | None:
        """Return the origin as bytes; None if another process could not rebuild the kernel from them."""


@dataclass(frozen=True, eq=False)
class DerivativeOrigin:
    """Origin of a derivative kernel: the kernel that was differentiated, and the arguments of the request.

    The request is the method's name (such as "jacobian"), the names of inputs, the outputs, and the options.
    """

    base: Any  # a `Kernel`
    request: tuple[str, tuple[str, ...], Any, tuple[Any, ...]]


def is_debugging() -> bool:
    """Return True with LINKWORK_DEBUG in the environment: programs and stored traces are then verified."""
    return os.environ.get(DEBUG, "") not in ("", "0")


@dataclass(frozen=True)
class Recipe:
    """The ports of a kernel, and a function that traces its program if the cache does not have its code."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    trace: Callable[[], Program]
    content: tuple[str, ...] | None = None
    """Everything that the program depends on except linkwork itself; None if only the traced program shows it."""
    facts: tuple[tuple[str, str], ...] = ()
    """Facts that a list of the cache's entries shows."""
    ruled: Callable[[], Program] | None = None
    """The program with its own rules of differentiation, if it has any."""
    in_double: bool = False
    """True if it is computed in float64 for arguments of any type."""
    identity: str | None = None
    """Digest of the content of a kernel from another process; None if ``content`` or the program shows it."""
    origin: FunctionOrigin | DerivativeOrigin | None = None
    """What a pickle of the kernel has instead of the program; None for the program."""

    @staticmethod
    def of(program: Program) -> Recipe:
        return Recipe(program.name, program.inputs, program.outputs, lambda: program, in_double=program.in_double)


class Source:
    """The program of a recipe, traced and optimized on first use."""

    def __init__(self, recipe: Recipe, backend: Backend[Any], without_passes: Sequence[str] = ()) -> None:
        self.recipe, self.backend = recipe, backend
        self.without_passes = (*without_passes, *backend.without_passes)
        self._cached = not without_passes
        self.trace_seconds = 0.0
        self._lock = Lock()
        self._traced: Program | None = None
        self._simplified: Program | None = None
        self._program: Program | None = None
        self._identity: tuple[str, ...] | None = None
        self._state: tuple[str, str] | None = None  # of linkwork, during `one_look`
        self._layouts: dict[tuple[FloatType, bool], Lowered] = {}

    @property
    def traced(self) -> Program:
        """The program as it was traced."""
        with self._lock:
            if self._traced is None:
                start = time.perf_counter()
                self._traced = without_collections(self.recipe.trace)()
                self.trace_seconds = time.perf_counter() - start
            return self._traced

    @property
    def is_traced(self) -> bool:
        """True if `traced` already has the program, so that its next use runs no trace."""
        return self._traced is not None

    @property
    def program(self) -> Program:
        """The program after all passes; with LINKWORK_DEBUG in the environment it is verified between them."""
        with self._lock:
            if self._program is None:
                from linkwork.compiler.passes import ORDERING

                self._program = self._after(self.simplified, ORDERING)
            return self._program

    @property
    def simplified(self) -> Program:
        """The program after all passes except those that order its instructions."""
        with self._lock:
            if self._simplified is None:
                from linkwork.compiler.passes import SIMPLIFYING

                self._simplified = self._after(self.traced, SIMPLIFYING)
            return self._simplified

    def _after(self, program: Program, passes: Sequence[Any]) -> Program:
        from linkwork.compiler.passes import optimize

        options: dict[str, Any] = {"without": self.without_passes, "debug": is_debugging(), "passes": passes}
        return without_collections(optimize)(program, **options)

    def layout(self, real: FloatType, *, quick: bool = False) -> Lowered:
        """Return the optimized program as code for a floating-point type: the result of `Backend.lower`.

        With ``quick``, the order of instructions is computed in little time, and the code is slower.
        """
        with self._lock:
            if (real, quick) not in self._layouts:
                from linkwork.compiler.passes import QUICK_ORDERING

                reason = self.backend.refuse(self.traced)
                if reason is not None:
                    backend = self.backend.name
                    raise ValueError(f"kernel {self.recipe.name!r}: backend {backend!r} cannot compile it: {reason}")
                program = self._after(self.simplified, QUICK_ORDERING) if quick else self.program
                self._layouts[real, quick] = without_collections(self.backend.lower)(program, real)
            return self._layouts[real, quick]

    def texts(self, parts: Iterable[str], real: FloatType = DOUBLE) -> list[str]:
        """Return the text of parts of the code, one for each module: LLVM IR for the CPU."""
        return without_collections(self.layout(real).texts)(parts)

    def quick_texts(self, parts: Iterable[str], real: FloatType = DOUBLE, *, scheduled: bool = False) -> list[Module]:
        """Return modules that compile in less time than `texts`: LLVM IR, or functions that return objects.

        Unless ``scheduled``, the order of instructions is computed in little time, and the code is slower.
        """
        return without_collections(self.layout(real, quick=not scheduled).quick_texts)(parts)

    @property
    def identity(self) -> tuple[str, ...]:
        """A digest of everything that the program depends on except linkwork itself."""
        with self._lock:
            if self._identity is None:
                known, digest = self.recipe.content, self.recipe.identity
                if digest is None:
                    whole = ("program", *self._content()) if known is None else ("recipe", *known)
                    digest = hashlib.sha256(json.dumps(whole).encode()).hexdigest()
                self._identity = (digest,)
            return self._identity

    def _content(self) -> tuple[str]:
        from linkwork.compiler.cache.program_digest import content

        return (content(self.traced),)

    @contextmanager
    def one_look(self) -> Iterator[None]:
        """Read the state of linkwork's files only once for all calls of `keys` in the block, since reading is slow."""
        before = self._state
        self._state = own_state()
        try:
            yield
        finally:
            self._state = before

    def is_unchanged(self) -> bool:
        """Return True if linkwork's files are unchanged since `one_look` began; names from `keys` are then valid."""
        return self._state is None or self._state == own_state()

    def keys(self, parts: Iterable[str], real: FloatType, backend: Backend[Any] | None = None) -> dict[str, str]:
        """Return the cache name of each part of the code, by part; {} if the code must not be stored.

        ``backend`` is the backend that compiles the code, by default `Source.backend`.
        """
        if not self._cached:
            return {}
        backend = self.backend if backend is None else backend
        target = backend.name, *backend.target
        code = digest([real.name, symbol_prefix(self.recipe.name), *self.identity], target, self._state)
        return {part: f"{code}-{part}" for part in parts}
