"""The interface of a backend, which compiles programs to code.

The rest of the compiler uses only this interface; `codegen/` and `loops/` belong to the CPU's backend.
`linkwork.compiler.backends` lists the backends, and `linkwork.compiler.checks.check_backend` compares the results of a
backend with the interpreter's and the CPU's.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

import numpy as np

from linkwork.compiler.codegen.float_type import DOUBLE, FloatType

if TYPE_CHECKING:
    from linkwork.compiler.program import Program

__all__ = ["Backend", "Claim", "Lowered", "Module", "symbol_prefix", "table_columns", "table_entry"]

Claim = Literal["now", "later", "done"]
"""Answer to a claim of modules: "now" to compile them, "later" while another process compiles them, or "done"."""

Module = str | Callable[[], bytes]
"""A module of code as text, or a function that returns its object: see `Backend.emit`."""

Loaded = TypeVar("Loaded")
_TABLE_ENTRY = "along"


class Lowered(Protocol):
    """The code of one program for one backend and one floating-point type, before its compilation."""

    def texts(self, parts: Iterable[str]) -> list[str]:
        """Return the code of the parts, one text for each module, in the backend's language: LLVM IR for the CPU.

        The texts are the input of `Backend.emit`.  A part has at least one module.
        """

    def quick_texts(self, parts: Iterable[str]) -> list[Module]:
        """Return modules that `Backend.quick` compiles instead of `texts`, to code with the same results.

        A module is a text, or a function that returns an object.  This method is called only for a backend that is
        quick, or that has a quick backend.
        """


class Backend(ABC, Generic[Loaded]):
    """A kind of machine, or a form of code, that programs are compiled for.

    The stages of a kernel's code are `lower` (a program to a layout), the layout's `texts` (a part of the code to the
    text of modules), `emit` (texts to objects, which the cache on disk stores) and `load` (objects to an entry that can
    be called). All but `load` must be deterministic: the same arguments and `target` give the same result.

    A backend is immutable. A GPU's backend, for example, writes the text of a function of one sample in `lower`,
    translates it to PTX in `emit`, loads a module with the driver in `load`, and launches a thread for each sample in
    `call`; ``target`` is the architecture and the driver's version, and ``lanes`` is 1.
    """

    name: ClassVar[str]  # as in `linkwork.compiler.backends`
    batch_entry: ClassVar[str]  # the entry for a batch, which `call` calls
    few_entry: ClassVar[str] = ""  # the entry for calls with few samples until that one is compiled, if there is one

    # -- the machine

    @property
    @abstractmethod
    def target(self) -> tuple[str, ...]:
        """Descriptions of everything, other than the program, that compiled code depends on, such as the processor.

        The digest that names code in the cache on disk includes them.
        """

    @property
    def without_passes(self) -> tuple[str, ...]:
        """Names of the compiler passes that do not run for this backend, since it lacks their instructions.

        For example, a machine without fused multiply-add names "fuse".
        """
        return ()

    def lanes(self, real: FloatType) -> int:
        """Return the number of samples that are computed together in a vector."""
        return 1

    @property
    @abstractmethod
    def entries(self) -> tuple[str, ...]:
        """Names of the functions of compiled code that other code may call; every program has all of them."""

    # -- from a program to code

    def refuse(self, program: Program) -> str | None:
        """Return the reason why the program cannot be compiled, such as its loops; None if it can be compiled."""
        return None

    @abstractmethod
    def parts(self, entry: str, real: FloatType) -> tuple[str, ...]:
        """Return the names of the parts of the code that are compiled and loaded for an entry, one of `entries`.

        The result is () if this floating-point type has no such entry.
        """

    @abstractmethod
    def lower(self, program: Program, real: FloatType) -> Lowered:
        """Return the layout of an optimized program as code for a floating-point type, the first stage of compilation.

        The program has gone through all compiler passes except those in `without_passes`.
        """

    @abstractmethod
    def emit(self, texts: Sequence[Module], waiting: Callable[[], float | None] = lambda: None) -> list[bytes]:
        """Return the object of each module. An object contains no address of this process.

        Some modules may be functions that return their object (see `Lowered.quick_texts`).

        ``waiting`` is called from time to time while modules are compiled: see `linkwork._util.thread_tasks.run`.
        """

    @property
    def is_quick(self) -> bool:
        """True if all code of this backend is compiled from `Lowered.quick_texts`."""
        return False

    @property
    def quick(self) -> Self | None:
        """A backend that compiles code with the same results in less time, for first calls; None if there is none."""
        return None

    def emit_later(
        self,
        modules: Callable[[], tuple[Sequence[bytes], int]],
        is_written: bool,
        done: Callable[[list[bytes]], None],
        urgent: bool = False,
        claim: Callable[[], Claim] = lambda: "now",
        release: Callable[[], None] = lambda: None,
    ) -> None:
        """Compile modules in the background, then call ``done`` with their objects on another thread.

        ``claim`` is called first.  It returns "now" if this process must compile the modules, "done" if they need not
        be compiled, and "later" while another process compiles them; after "later" it is called again after a while.
        ``release`` is called at the end, even if the modules could not be compiled.

        ``modules`` returns the modules' texts, compressed by zlib, and their total length in characters.  The call may
        take long unless the texts exist already (``is_written``).  ``urgent`` modules are compiled before others.  This
        method is called only for backends that have a `quick` one.
        """
        raise NotImplementedError

    def is_object(self, code: bytes) -> bool:
        """Return True if the bytes can be an object of this backend; other entries of the cache are compiled again."""
        return bool(code)

    def code_bytes(self, code: bytes) -> int:
        """Return the size of an object's instructions [bytes]."""
        return len(code)

    def listing(self, texts: Sequence[str]) -> str:
        """Return compiled code as readable text, such as assembly, from the ``texts`` of its modules."""
        return "\n".join(texts)

    def segments(self, program: Program) -> int:
        """Return the number of functions in which a program's straight-line operations are compiled."""
        return 1

    # -- code in this process

    @abstractmethod
    def load(self, objects: Sequence[bytes], name: str, entry: str) -> Loaded:
        """Load compiled objects into this process and return the function ``entry`` of the program ``name``.

        ``objects`` are the objects of the entry's `parts`, in the order of the parts.
        """

    def load_together(
        self, objects: Mapping[str, Sequence[bytes]], name: str, entries: Mapping[str, Sequence[str]]
    ) -> list[Loaded]:
        """Load several entries of a program; ``entries`` has the parts of each entry.

        ``objects`` has the objects of each part.  A backend may load a part only once if several entries share it.
        """
        return [
            self.load([code for part in parts for code in objects[part]], name, entry)
            for entry, parts in entries.items()
        ]

    @abstractmethod
    def call(self, code: Loaded, program: Program, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Call a loaded function (entry ``batch_entry``) on a batch of samples and write the results to ``outputs``.

        Arrays are contiguous, of the code's floating-point type and of shape (samples, *port shape).
        """

    # -- all of it

    def all_parts(self, real: FloatType) -> tuple[str, ...]:
        """Return the parts of all `entries`."""
        return tuple(dict.fromkeys(part for entry in self.entries for part in self.parts(entry, real)))

    def function(self, program: Program, real: FloatType = DOUBLE) -> Callable[[Sequence[Any]], list[np.ndarray]]:
        """Compile a traced program, without the cache, and return a function that evaluates it on a batch of samples.

        The function takes an array (samples, *port shape) for each input and returns such an array for each output.
        For a program without inputs, samples is 1.  Raises ValueError for a program that the backend refuses.
        """
        reason = self.refuse(program)
        if reason is not None:
            raise ValueError(f"{self.name}: program {program.name!r} cannot be compiled: {reason}")
        from linkwork.compiler.passes import optimize

        lowered = self.lower(optimize(program, without=self.without_passes), real)
        texts = lowered.texts(self.parts(self.batch_entry, real))
        code = self.load(self.emit(texts), program.name, self.batch_entry)

        def run(arrays: Sequence[Any]) -> list[np.ndarray]:
            inputs = [np.ascontiguousarray(x, real.dtype) for x in arrays]
            count = len(inputs[0]) if inputs else 1
            outputs = [np.empty((count, *port.shape), real.dtype) for port in program.outputs]
            self.call(code, program, inputs, outputs)
            return outputs

        return run

    def __repr__(self) -> str:
        return f"<backend {self.name}>"


def symbol_prefix(name: str) -> str:
    """Return the prefix of the symbols of a kernel's code: its name in characters that linkers and LLVM accept."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"{plain}_" if plain == "llvm" else plain  # names that begin with "llvm." are reserved for LLVM


def table_entry(columns: int) -> str:
    """Return the name of the compiled function that evaluates lookup tables with this many columns.

    Not every backend has such functions.
    """
    return f"{_TABLE_ENTRY}{columns}"


def table_columns(entry: str) -> int:
    """Return the number of columns from a name that `table_entry` returned."""
    return int(entry.removeprefix(_TABLE_ENTRY))
