"""The compiler on other processors, without a cache, and for classes and kernels that are not stored."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from linkwork._util import own_code
from linkwork.compiler import code_parts, uncompiled_call
from linkwork.compiler.cache.function_content import UnknownContentError
from linkwork.compiler.cache.secure_directory import TrustedDirectory
from linkwork.compiler.codegen import target
from linkwork.compiler.derivatives.derivative_recipes import _space
from linkwork.compiler.derivatives.tangent_spaces import Space
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.pickling.kernel_pickle import ClassByName
from linkwork.compiler.port import Port
from linkwork.compiler.trace import stored_traces
from linkwork.compiler.trace.trace import compile as compile_function
from linkwork.expr.arrays.pytree import Leaf, TreeDef


def test_instruction_sets_of_a_processor_follow_from_its_system_and_features(monkeypatch: pytest.MonkeyPatch) -> None:
    def names(triple: str, features: str, lanes: int = 8) -> dict[str, Any]:
        machine = target.Target(triple, "this", features, lanes, True)
        monkeypatch.setattr(target, "_machine", lambda: machine)
        return target.levels.__wrapped__()

    monkeypatch.setattr(own_code, "_replaced", {})
    avx2, avx512 = "+avx2,+fma,+bmi,+bmi2", "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
    linux = "x86_64-unknown-linux-gnu"
    assert [*names("aarch64-unknown-linux-gnu", "+neon")] == ["neon"] and [*names("arm64-apple-darwin", "")] == ["neon"]
    assert [*names("powerpc64le-unknown-linux-gnu", avx2)] == ["generic"]
    assert [*names(linux, "+sse2", 2)] == ["sse2"] and [*names(linux, "+avx", 4)] == ["sse2", "avx"]
    assert [*names(linux, avx2, 4)] == ["sse2", "avx2"] and [*names(linux, "+avx2,+fma", 2)] == ["sse2"]
    assert [*names(linux, f"{avx2},{avx512}")] == ["sse2", "avx2", "avx512"]
    assert names(linux, f"{avx2},{avx512}")["avx512"].cpu == "this"
    assert names(linux, f"{avx2},{avx512}", 4)["avx512"].cpu == "x86-64-v4"


def test_processor_is_detected_by_llvm_if_the_system_does_not_describe_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_code, "_replaced", {})
    known = target._about()
    for name in ("_words_of_linux", "_words_of_windows", "_features_of_numpy"):
        with monkeypatch.context() as patch:
            patch.setattr(target, name, lambda: None)
            if known is not None and name != "_words_of_windows":
                assert target._about() is None
    with monkeypatch.context() as patch:
        patch.setattr(target, "shared", lambda: None)
        patch.setattr(target, "on_own_thread", lambda function: function.__name__)
        assert target.processor.__wrapped__() == "_from_llvm"


def test_compilation_is_not_shared_between_processes_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_code, "_replaced", {})
    source: Any = SimpleNamespace(keys=lambda *arguments: {}, backend=SimpleNamespace(quick=None))
    unused: Any = None
    assert code_parts.SharedWork(source, ["best"], unused).claim()
    empty = code_parts.improvable("best", source, unused)
    assert empty == code_parts.ImprovablePart(None, "", "", {})
    monkeypatch.setattr(code_parts, "shared", lambda: None)
    source = SimpleNamespace(keys=lambda *arguments: {"best": "a"}, backend=SimpleNamespace(quick=object()))
    work = code_parts.SharedWork(source, ["best"], unused)
    assert work.claim() and work.done_by_others() == {} and code_parts.improvable("best", source, unused) == empty
    work.release()


def test_files_of_a_directory_without_descriptor_are_named_by_their_whole_path() -> None:
    folder = Path("/cache")
    for number, expected in ((None, {"path": folder / "a"}), (7, {"path": "a", "dir_fd": 7})):
        directory: Any = SimpleNamespace(_number=number, _folder=folder)
        assert TrustedDirectory._at(directory, "a") == expected


class Pair(NamedTuple):
    """Nested values of a module."""

    first: float
    second: float


def test_traces_with_output_classes_that_cannot_be_imported_are_not_stored() -> None:
    local = type("Pair", (Pair,), {"__module__": __name__})
    leaf = Leaf((2,), True)
    assert stored_traces._described(TreeDef(dict, ("a", 1), (leaf, leaf)))["keys"] == ["a", 1]
    assert stored_traces._described(TreeDef(Pair, ("first", "second"), (leaf, leaf)))["class"] == [__name__, "Pair"]
    assert stored_traces._described(TreeDef(local, ("first", "second"), (leaf, leaf))) is None
    assert stored_traces._described(TreeDef(dict, ((1, 2),), (leaf,))) is None
    inner = TreeDef(local, ("first", "second"), (leaf, leaf))
    assert stored_traces._described(TreeDef(dict, ("a",), (inner,))) is None
    for kind, by_name in ((Pair, True), (local, False)):
        function, arguments = ClassByName(kind).__reduce__()
        assert function(*arguments) is kind and (arguments == (__name__, "Pair")) is by_name


def test_content_of_a_kernel_is_unknown_before_its_trace() -> None:
    kernel: Any = SimpleNamespace(_base=SimpleNamespace(identity=None), name="f")
    with pytest.raises(UnknownContentError, match="kernel 'f' is not traced yet"):
        Kernel._trace_content(kernel)


def test_check_backend_compares_results_of_batches_of_all_sizes() -> None:
    contract: Any = import_module("linkwork.compiler.checks.check_backend")
    most = max(contract._SIZES)
    results = [np.sin(np.arange(float(most)))]
    program = SimpleNamespace(name="f", outputs=[Port("y", ())])

    def of(function: Any) -> Any:
        return SimpleNamespace(
            programs=[program], functions=[function], inputs=[[np.arange(float(most))]], results=[results]
        )

    assert contract._batches(of(lambda arrays: [np.sin(arrays[0])])) == []
    with pytest.raises(ValueError, match=rf"f: y: a batch of \d+ samples differs from a batch of {most}"):
        contract._batches(of(lambda arrays: [np.sin(arrays[0]) + (1e-16 if len(arrays[0]) < most else 0.0) + 2e-16]))


def test_names_of_differentiated_outputs_must_be_strings() -> None:
    kernel = compile_function(lambda x: 2.0 * x, x=(2,), name="f")
    for of in (3, 0.5):
        with pytest.raises(TypeError, match=rf"Kernel\.jacobian: of: expected names of outputs, got {of}"):
            kernel.jacobian(of=of)
    space = Space(2, 2, (), "plane", ("a", "b"))
    assert [_space(x) for x in (None, space, replace(space, content=None))] == [(), ("2", "2", "a", "b"), ("2", "2")]
    assert uncompiled_call._elements([1.0, [2.0, np.array([3.0, [4.0]], dtype=object)]]) == [1.0, 2.0, 3.0, 4.0]
