"""Pickles of kernels: a head that describes the kernel, and the source from which the reader rebuilds its program.

A pickle has no machine code.  Its head has everything that a call needs except machine code, and the name of that code
in the cache.  So a process whose cache has the code runs the kernel without its program.  The program is rebuilt when
it is needed: from a robot and its request, from the kernel that was differentiated, or from the bytes of the traced
program.

This process has a table of kernels by digest: a second pickle of a kernel is read as the same object.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from weakref import ref

from linkwork._util.cached_properties import cached_property
from linkwork._util.thread_safety import Lock
from linkwork.compiler.backends import default_backend
from linkwork.compiler.build import DerivativeOrigin, Packed, Recipe
from linkwork.compiler.derivatives.tangent_spaces import Spaces
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.pickling.byte_stream import DamagedBytesError, compressed, decompressed
from linkwork.compiler.port import Port
from linkwork.compiler.program import Program
from linkwork.compiler.trace.pytree_ports import described_nesting, nesting_of

__all__ = ["ClassByName", "kernel_from", "packed", "pickled", "program_values"]

_FORMAT = 1  # of the head
_PROGRAM, _FUNCTION, _DERIVATIVE = "program", "function", "derivative"
_LOADED_KERNELS = 128  # kernels that stay loaded after their last use


# -- to bytes


def pickled(kernel: Kernel) -> tuple[Any, ...]:
    """Return the value of ``Kernel.__reduce__``."""
    content = packed(kernel)
    with _lock:
        if _known(content.digest) is None:
            _remember(content.digest, kernel)
    objects = tuple([ClassByName(x) if isinstance(x, type) else x for x in content.objects])
    return kernel_from, content._replace(objects=objects)[:]


def packed(kernel: Kernel) -> Packed:
    """Return the content of a kernel's pickle.  Raises TypeError for a kernel with a user's backend."""
    if kernel._packed is None:
        kernel._packed = _packed(kernel)
    return kernel._packed


def _packed(kernel: Kernel) -> Packed:
    source = kernel._source
    recipe = source.recipe
    if source.backend.name != default_backend().name:
        raise TypeError(
            f"kernel {recipe.name!r}: expected a kernel of the backend {default_backend().name!r}, got one of "
            f"{source.backend.name!r}, which cannot be pickled: compile it in the other process"
        )
    kind, body, objects = _body(kernel)
    classes: list[Any] = []

    def index_of(kind: Any) -> int:
        classes.append(kind)
        return len(objects) + len(classes) - 1

    head = {
        "format": _FORMAT,
        "version": _version(),
        "kind": kind,
        "name": recipe.name,
        "doc": kernel._doc,
        "inputs": [[port.name, port.shape] for port in recipe.inputs],
        "outputs": [[port.name, port.shape] for port in recipe.outputs],
        "nesting": described_nesting(kernel._nesting, index_of),
        "identity": source.identity[0],
        "facts": recipe.facts,
        "in_double": recipe.in_double,
        "ruled": recipe.ruled is not None and kind != _PROGRAM,
        "spaces": bool(kernel._spaces.inputs or kernel._spaces.outputs),
        "without": kernel._without_passes,
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    names = [f"{x.__module__}.{x.__qualname__}" if isinstance(x, type) else repr(x) for x in classes]
    same = text + json.dumps(names).encode() + (body if kind == _PROGRAM else b"")  # the identity covers other bodies
    return Packed(hashlib.sha256(same).digest()[:16], compressed(text), body, (*objects, *classes))


def _body(kernel: Kernel) -> tuple[str, bytes, tuple[Any, ...]]:
    """Return the kind of a kernel's origin, and the origin as bytes and objects."""
    origin = kernel._source.recipe.origin
    if isinstance(origin, DerivativeOrigin):
        return _DERIVATIVE, b"", (tuple(pickled(origin.base)[1]), *origin.request)
    packed_origin = None if origin is None else origin.packed()
    if packed_origin is not None:
        return _FUNCTION, packed_origin, ()
    from linkwork.compiler.pickling.program_bytes import write_values

    data, objects = write_values(program_values(kernel))
    return _PROGRAM, compressed(data), objects


def program_values(kernel: Kernel) -> tuple[Any, ...]:
    """Return a kernel's program and spaces as values that `write_values` accepts."""
    from linkwork.compiler.pickling.space_values import values_of_spaces

    return kernel._source.traced, values_of_spaces(kernel._spaces)


class ClassByName:
    """Reference to a class in a pickle, by module and name; a process without the class raises a clear error."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def __reduce__(self) -> Any:
        module, name = self.kind.__module__, self.kind.__qualname__
        if module == "__main__" or _class_in(module, name) is not self.kind:
            return _itself, (self.kind,)  # cloudpickle has pickles of such classes
        return _class_by_name, (module, name)


def _itself(kind: type) -> type:
    return kind


def _class_in(module: str, name: str) -> Any:
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _class_by_name(module: str, name: str) -> type:
    try:
        importlib.import_module(module)
        value = _class_in(module, name)
    except ImportError as error:
        value, cause = None, f"{error}"
    else:
        cause = f"the module {module!r} of this process has no class {name!r}"
    if not isinstance(value, type):
        raise ModuleNotFoundError(
            f"pickle of a kernel: the class {module}.{name} of its arguments or results is needed: {cause}; install "
            f"the module in this process too"
        )
    return value


# -- from bytes

_loaded: dict[bytes, ref[Kernel]] = {}
_recent: OrderedDict[bytes, Kernel] = OrderedDict()
_lock = Lock()


def _known(digest: bytes) -> Kernel | None:
    """Return this process's kernel with a digest, or None."""
    reference = _loaded.get(digest)
    return None if reference is None else reference()


def _remember(digest: bytes, kernel: Kernel) -> None:
    _loaded[digest] = ref(kernel, partial(_loaded.pop, digest))


def kernel_from(digest: bytes, head: bytes, body: bytes, objects: tuple[Any, ...]) -> Kernel:
    """Return the kernel of a pickle: the existing kernel with the same digest, or a new kernel.

    Raises ValueError for a pickle of another version of linkwork.
    """
    with _lock:
        kernel = _known(digest)
        if kernel is not None and (not objects or _objects_of(kernel) == objects):
            _recent[digest] = kernel
            _recent.move_to_end(digest)
            return kernel
    kernel = _new(Packed(digest, head, body, objects))
    with _lock:
        known = None if objects else _known(digest)
        kernel = kernel if known is None else known
        _remember(digest, kernel)
        _recent[digest] = kernel
        while len(_recent) > _LOADED_KERNELS:
            _recent.popitem(last=False)
    return kernel


def _objects_of(kernel: Kernel) -> tuple[Any, ...] | None:
    return None if kernel._packed is None else kernel._packed.objects


def _new(content: Packed) -> Kernel:
    try:
        head = json.loads(decompressed(content.head))
    except (DamagedBytesError, ValueError, RecursionError) as error:
        raise ValueError(f"pickle of a kernel: it is damaged: {error}") from None
    if head.get("format") != _FORMAT or head.get("version") != _version():
        raise ValueError(
            f"pickle of a kernel: expected one of linkwork {_version()}, got one of linkwork {head.get('version')}: "
            f"install the same version in all processes, or use Kernel.save"
        )
    remade = _Remade(content, head)
    inputs, outputs = ([Port(name, tuple(shape)) for name, shape in head[side]] for side in ("inputs", "outputs"))
    recipe = Recipe(
        head["name"],
        tuple(inputs),
        tuple(outputs),
        remade.trace,
        facts=tuple([(kind, label) for kind, label in head["facts"]]),
        ruled=remade.ruled if head["ruled"] else None,
        in_double=head["in_double"],
        identity=head["identity"],
    )
    kernel = Kernel(
        recipe,
        doc=head["doc"],
        without_passes=head["without"],
        nesting=nesting_of(head["nesting"], lambda index, keys: content.objects[index]),
        spaces=remade.spaces if head["spaces"] else None,
        later=True,
    )
    kernel._packed = content
    return kernel


class _Remade:
    """Program of an unpickled kernel, with other values that are rebuilt when they are first needed."""

    def __init__(self, content: Packed, head: Mapping[str, Any]) -> None:
        self._content, self._head = content, head
        self._lock = Lock()

    def trace(self) -> Program:
        if self._head["kind"] == _PROGRAM:
            return self._values[0]  # type: ignore[no-any-return]
        return self._kernel._source.traced

    def ruled(self) -> Program:
        trace = self._kernel._source.recipe.ruled
        assert trace is not None, self._head["name"]
        return trace()

    def spaces(self) -> Spaces:
        if self._head["kind"] != _PROGRAM:
            return self._kernel._spaces
        from linkwork.compiler.pickling.space_values import spaces_of_values

        return spaces_of_values(self._values[1])

    @cached_property
    def _values(self) -> Sequence[Any]:
        from linkwork.compiler.pickling.program_bytes import read_values

        with self._lock:
            try:
                return read_values(decompressed(self._content.body), self._content.objects)
            except DamagedBytesError as error:
                raise ValueError(f"pickle of kernel {self._head['name']!r}: its bytes are damaged: {error}") from None

    @cached_property
    def _kernel(self) -> Kernel:
        """The kernel, rebuilt from its origin."""
        with self._lock:
            if self._head["kind"] == _DERIVATIVE:
                base, method, by, of, options = self._content.objects[:5]
                return kernel_from(*base)._derivative_named(method, by, of, options)
            module = importlib.import_module("linkwork.kernels.function_kernels")
            return module.kernel_of_pickle(self._content.body)  # type: ignore[no-any-return]


def _version() -> str:
    return str(importlib.import_module(__name__.partition(".")[0]).__version__)
