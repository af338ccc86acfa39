"""The interface of a backend: a program goes in, code comes out.

The rest of the compiler asks a backend only what stands here.  It knows no writer of code: `codegen/` and `loops/` are
the CPU's own.  `linkwork.compiler.backends` lists the backends, and `linkwork.compiler.checks.check_backend` compares
the answers of one with the interpreter's and the CPU's.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from linkwork.compiler.codegen.float_type import DOUBLE, Real
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import Program

__all__ = ["Backend", "Lowered", "symbol_prefix", "table_columns", "table_entry"]

Loaded = TypeVar("Loaded")
_TABLE_ENTRY = "along"


class Lowered(Protocol):
    """A program laid out for a backend and a type of numbers, from which the text of each part is written."""

    def texts(self, parts: Iterable[str]) -> list[str]:
        """The modules of some parts, as text: what `Backend.emit` takes.  A part has at least one module."""


class Backend(ABC, Generic[Loaded]):
    """A kind of machine, or a form of code, that programs are compiled for.

    The stages of a kernel's code are `lower` (a program to a layout), the layout's `texts` (a part of the code to the
    text of modules), `emit` (text to objects, which the cache on disk keeps) and `load` (objects to an entry that can
    be called).  Everything but `load` must give the same for the same arguments and `target`.

    A backend is immutable.  A GPU's backend, for example, writes the text of a function of one sample in `lower`, makes
    PTX of it in `emit`, loads a module with the driver in `load`, and launches a thread for each sample in `call`;
    ``target`` is the architecture and the driver's version, and ``lanes`` is 1.
    """

    name: ClassVar[str]  # as in `linkwork.compiler.backends`
    batch_entry: ClassVar[str]  # the one of `entries` that takes a batch: what `call` calls

    # -- the machine

    @property
    @abstractmethod
    def target(self) -> tuple[str, ...]:
        """All that code depends on besides the program: part of the digest that names code in the cache."""

    @property
    def without_passes(self) -> tuple[str, ...]:
        """Names of passes whose results this backend does not take, such as "fuse" without fused products."""
        return ()

    def lanes(self, real: Real) -> int:
        """The number of samples that are computed side by side."""
        return 1

    @property
    @abstractmethod
    def entries(self) -> tuple[str, ...]:
        """The functions of the code that are called from outside, which every program has."""

    # -- from a program to code

    def refuse(self, program: Program) -> str | None:
        """Why the program cannot be compiled here, such as its loops; None where it can."""
        return None

    @abstractmethod
    def parts(self, entry: str, real: Real) -> tuple[str, ...]:
        """The parts of the code that an entry needs; none where there is no such entry for this type of numbers."""

    @abstractmethod
    def lower(self, program: Program, real: Real) -> Lowered:
        """Lay out a program, after all passes but `without_passes`, as code for a type of numbers."""

    @abstractmethod
    def emit(self, texts: Sequence[str], waiting: Callable[[], float | None] = lambda: None) -> list[bytes]:
        """The object of each module.  An object holds no address of this process.

        ``waiting`` is called meanwhile, where that takes long: see `linkwork._util.thread_pool.run`.
        """

    def is_object(self, code: bytes) -> bool:
        """True where this may be an object of this backend; the cache's other entries are compiled again."""
        return bool(code)

    def code_bytes(self, code: bytes) -> int:
        """The size of an object's instructions [bytes]."""
        return len(code)

    def listing(self, texts: Sequence[str]) -> str:
        """The machine's instructions as text, for people to read."""
        return "\n".join(texts)

    def pieces(self, program: Program) -> int:
        """The number of functions that a program's operations are cut into."""
        return 1

    # -- code in this process

    @abstractmethod
    def load(self, objects: Sequence[bytes], name: str, entry: str) -> Loaded:
        """The entry of a program of this name, loaded: the objects are those of its parts, in their order."""

    @abstractmethod
    def call(self, code: Loaded, program: Program, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Call a loaded `batch_entry`: samples in, and results written to the outputs.

        Arrays are contiguous and of the type of numbers that the code is of, (samples, *shape of the port).
        """

    # -- all of it

    def all_parts(self, real: Real) -> tuple[str, ...]:
        """The parts of all `entries`."""
        return tuple(dict.fromkeys(part for entry in self.entries for part in self.parts(entry, real)))

    def function(self, program: Program, real: Real = DOUBLE) -> Callable[[Sequence[Any]], list[np.ndarray]]:
        """Compile a program as it was traced, without the cache, to a function of a batch.

        It takes an array (samples, *shape) for each input, and returns such arrays, of one sample where there are no
        inputs.  Raises ValueError for a program that the backend refuses.
        """
        reason = self.refuse(program)
        if reason is not None:
            raise ValueError(f"{self.name}: program {program.name!r}: {reason}")
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
    """What the symbols of a kernel's code begin with: its name, as far as linkers and LLVM take it."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"{plain}_" if plain == "llvm" else plain  # what begins with "llvm." is LLVM's own


def table_entry(columns: int) -> str:
    """The name of the entry along tables of so many columns, of backends that have such entries."""
    return f"{_TABLE_ENTRY}{columns}"


def table_columns(entry: str) -> int:
    """The number of columns of a table's entry."""
    return int(entry.removeprefix(_TABLE_ENTRY))
