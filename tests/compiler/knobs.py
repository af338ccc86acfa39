"""Smaller limits of the compiler: small programs are cut into segments, and small batches are shared by threads."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

import linkwork as lw
from linkwork.compiler.codegen import batch_loop as loops
from linkwork.compiler.codegen import part_code
from linkwork.compiler.codegen.code_segments import plan
from linkwork.compiler.codegen.target import levels
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.prepared_code import make_ready
from linkwork.compiler.runtime import threads

LEVELS = levels()
every_level = pytest.mark.parametrize("level", LEVELS)


@contextlib.contextmanager
def sizes(*, whole: int = 2000, most: int = 600, worth: float = loops._MIN_THREAD_WORK) -> Iterator[None]:
    """Kernels made inside, without the cache: programs of more than ``whole`` instructions are cut into ``most``, and a
    thread is worth its start for so many nanoseconds."""

    def kernel_with_small_limits(kernel: Kernel, *inputs: Any, **options: Any) -> None:
        make(kernel, *inputs, **options)
        make_ready(kernel)  # what is compiled later has these sizes, too

    make = Kernel.__init__
    with (
        mock.patch.object(Kernel, "__init__", kernel_with_small_limits),
        mock.patch.object(part_code, "plan", lambda program: plan(program, whole, most)),
        mock.patch.object(loops, "_MIN_THREAD_WORK", worth),
        mock.patch.dict(os.environ, {"LINKWORK_CACHE": "off"}),
    ):
        yield


@contextlib.contextmanager
def outlining(*, least: float = 0, left: float = math.inf, cache: str = "off") -> Iterator[None]:
    """Inside, programs of ``least`` instructions that have marks are outlined where so much of them is ``left``."""
    module = importlib.import_module("linkwork.compiler.passes.outline")
    with (
        mock.patch.object(module, "_MIN_INSTRUCTIONS", least),
        mock.patch.object(module, "_MIN_OF_SHORT", least),
        mock.patch.object(module, "_MAX_REMAINING", left),
        mock.patch.dict(os.environ, {"LINKWORK_CACHE": cache}),
    ):
        yield


@contextlib.contextmanager
def num_threads(count: int) -> Iterator[None]:
    before = threads.get_num_threads()
    lw.set_num_threads(count)
    try:
        yield
    finally:
        lw.set_num_threads(before)
