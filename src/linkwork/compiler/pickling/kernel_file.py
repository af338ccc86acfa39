"""Files of kernels: data only, read as untrusted input.

A file has the traced program, not machine code: the process that loads it compiles the program for its processor, or
finds the code in its cache.  The file's digest reveals damage, and the program is verified before it is compiled.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import keyword
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from linkwork._util.checked_arguments import public, unchecked
from linkwork._util.file_access import NotRegularError, opened_regular, replaced
from linkwork.compiler.build import Recipe
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.pickling.byte_stream import DamagedBytesError, compressed, decompressed
from linkwork.compiler.pickling.program_bytes import read_values, write_values
from linkwork.compiler.pickling.space_values import spaces_of_values, values_of_spaces
from linkwork.compiler.port import Port
from linkwork.compiler.program import Program
from linkwork.compiler.trace.pytree_ports import PortTree, described_nesting, nesting_of, port_names
from linkwork.errors import ArgumentError
from linkwork.expr.arrays.pytree import leaf_paths

__all__ = ["kernel_bytes", "kernel_of_bytes", "load_kernel", "save_kernel"]

_FORMAT = 1
_FIRST = re.compile(rb"linkwork kernel, format ([0-9]{1,6}), of version ([ -~]{1,40})\n")
_LONGEST_FIRST = 100  # [bytes]
_MAX_BYTES = 1 << 30  # of a file


def save_kernel(kernel: Kernel, path: str | os.PathLike[str]) -> None:
    """Write a kernel to a file (see `Kernel.save`)."""
    where = _path("Kernel.save", path)
    data = kernel_bytes(kernel)
    with replaced(where) as file:
        file.write(data)


@public(path=unchecked)
def load_kernel(path: str | os.PathLike[str], *, trusted: bool = True) -> Kernel:
    """Return the kernel of a file that `Kernel.save` wrote.

    Results are those of the saved kernel.  The kernel is compiled for this machine's processor at its first call, or
    its code is found in the cache on disk.  It has no Python function.  Reading is safe: a file has data only, and its
    program is verified.  ``trusted`` has no effect.

    Raises TypeError for a value that is not a path; FileNotFoundError and PermissionError of the system; ValueError for
    a file that is damaged, that another program wrote, or that a newer version of linkwork wrote, and for a class of
    the kernel's arguments or results that this process has not imported.
    """
    where = _path("load_kernel", path)
    try:
        with opened_regular(where) as (file, size):
            if size > _MAX_BYTES:
                raise DamagedBytesError(f"it has {size} bytes, more than the limit of {_MAX_BYTES}")
            return kernel_of_bytes(file.read(size + 1))
    except (DamagedBytesError, NotRegularError) as error:
        raise ValueError(f"load_kernel: {os.fspath(path)}: {error}") from None


def _path(caller: str, path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        raise ArgumentError(f"{caller}: path: expected the path of a file, got {path!r}")
    return Path(path)


# -- to bytes


def kernel_bytes(kernel: Kernel) -> bytes:
    """Return the content of a kernel's file.  Raises TypeError if the kernel contains code of the user."""
    program, classes = kernel._source.traced, list[list[str]]()

    def index_of(kind: Any) -> int:
        if not isinstance(kind, type) or not _is_container(kind):
            raise TypeError(
                f"Kernel.save: kernel {kernel.name!r}: expected nested values in tuples, named tuples, dataclasses and "
                f"dicts with names as keys, got {kind!r}: pickle the kernel instead"
            )
        classes.append([kind.__module__, kind.__qualname__])
        return len(classes) - 1

    nesting = described_nesting(kernel._nesting, index_of)
    head = {"doc": kernel._doc, "nesting": nesting, "classes": classes, "facts": kernel._source.recipe.facts}
    try:
        values = json.dumps(head, separators=(",", ":")), program, values_of_spaces(kernel._spaces)
        body, _ = write_values(values, with_objects=False)
    except TypeError as error:
        raise TypeError(
            f"Kernel.save: kernel {kernel.name!r}: {error}, which is code and not data: pickle the kernel instead"
        ) from None
    packed = compressed(body)
    version = str(importlib.import_module(__name__.partition(".")[0]).__version__)
    first = f"linkwork kernel, format {_FORMAT}, of version {version}\n".encode()
    return first + hashlib.sha256(packed).digest() + packed


def _is_container(kind: type) -> bool:
    return is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


# -- from bytes


def kernel_of_bytes(data: bytes) -> Kernel:
    """Return the kernel of a file's content.  Raises DamagedBytesError for other bytes."""
    first = _FIRST.match(data[:_LONGEST_FIRST])
    if first is None:
        raise DamagedBytesError("not a file that Kernel.save wrote")
    if int(first[1]) > _FORMAT:
        raise DamagedBytesError(
            f"expected a kernel of format {_FORMAT}, got format {int(first[1])} of linkwork {first[2].decode()}: "
            f"install that version"
        )
    start = first.end() + hashlib.sha256().digest_size
    packed = data[start:]
    if hashlib.sha256(packed).digest() != data[first.end() : start]:
        raise DamagedBytesError("it is damaged: the digest of its content differs from the stated digest")
    try:
        return _kernel_of(read_values(decompressed(packed)))
    except DamagedBytesError as error:
        raise DamagedBytesError(f"it is damaged, or of another version ({first[2].decode()}): {error}") from None
    except _NotImportedError as error:
        raise DamagedBytesError(str(error)) from None


class _NotImportedError(Exception):
    """A class that a file names has not been imported in this process."""


def _kernel_of(values: Sequence[Any]) -> Kernel:
    if len(values) != 3 or not isinstance(values[0], str) or not isinstance(values[1], Program):
        raise DamagedBytesError("it has no program")
    text, program, spaces = values
    _check_ports(program.inputs)
    _check_ports(program.outputs)
    try:
        head = json.loads(text)
        classes = [(str(module), str(name)) for module, name in head["classes"]]
        nesting = nesting_of(head["nesting"], lambda index, keys: _class_of(classes[index], keys))
        doc, facts = str(head["doc"]), tuple([(str(kind), str(label)) for kind, label in head["facts"]])
        fits = _fits(nesting, program)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise DamagedBytesError(f"its head cannot be read: {error!r}") from None
    if not fits:
        raise DamagedBytesError("the nesting of its arguments differs from those of its program")
    read_spaces = spaces_of_values(spaces, trusted=False)
    for ports, of_side in zip((program.inputs, program.outputs), read_spaces, strict=True):
        shapes: Mapping[str, tuple[int, ...]] = {port.name: port.shape for port in ports}
        if any(shapes.get(name) != space.shape for name, space in of_side.items()):
            raise DamagedBytesError("the shapes of a space and of its array differ")
    return Kernel(replace(Recipe.of(program), facts=facts), doc=doc, nesting=nesting, spaces=read_spaces, later=True)


def _check_ports(ports: Sequence[Port]) -> None:
    """Raise DamagedBytesError unless the ports' names are distinct and valid Python names."""
    names = [port.name for port in ports]
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_") or names.count(name) > 1:
            raise DamagedBytesError(f"an array is named {name!r}")


def _fits(nesting: PortTree, program: Program) -> bool:
    """Return True if the arrays of nested inputs and outputs are the ports of a program, in order."""
    inputs = [port for key, form in nesting.inputs.items() for port in port_names("", key, form)]
    shapes = None if nesting.outputs is None else [leaf.shape for _, leaf in leaf_paths(nesting.outputs)]
    return inputs == [*program.inputs] and shapes in (None, [port.shape for port in program.outputs])


def _class_of(name: tuple[str, str], keys: Any) -> type:
    """Return a class that this process has imported; a file causes no imports."""
    module, qualified = name
    value: Any = sys.modules.get(module)
    for part in qualified.split("."):
        value = getattr(value, "__dict__", {}).get(part)
    if not isinstance(value, type):
        raise _NotImportedError(
            f"its arguments or results have the class {module}.{qualified}, which this process has not imported: "
            f"import the module {module} first"
        )
    names = [f.name for f in fields(value)] if is_dataclass(value) else [*getattr(value, "_fields", ())]
    if not _is_container(value) or names != [*keys]:
        raise _NotImportedError(
            f"expected the class {module}.{qualified} with the fields {', '.join(map(str, keys))}, "
            f"got {', '.join(names)}"
        )
    return value
