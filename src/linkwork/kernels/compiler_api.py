"""The compiler's public interface for the packages above `kernels`.  A name's module is imported at first access."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.compiler.backends import wait_for_compiler
    from linkwork.compiler.cache.disk_cache import Cache, cache_location
    from linkwork.compiler.cache.own_files import wait_for_shared_state
    from linkwork.compiler.cache.stored_arrays import stored_array
    from linkwork.compiler.codegen.target import host, levels
    from linkwork.compiler.derivatives.tangent_spaces import Space
    from linkwork.compiler.kernel import Kernel, batch_call, call_state, make_single_call, single_call
    from linkwork.compiler.kernel_code import Deadline, compilations, waiting
    from linkwork.compiler.operation_counts import arithmetic, operations_of
    from linkwork.compiler.port import Port
    from linkwork.compiler.prepared_code import make_call_ready, make_ready
    from linkwork.compiler.runtime.buffer_pool import empty as recycled
    from linkwork.compiler.runtime.code_statistics import CodeStatistics, code_statistics
    from linkwork.compiler.runtime.loop_state import FEW
    from linkwork.compiler.runtime.piecewise_kernel import PiecewiseKernel, compile_piecewise
    from linkwork.compiler.runtime.threads import get_num_threads, set_num_threads
    from linkwork.compiler.trace.result_digest import result_digest
    from linkwork.compiler.trace.trace import compile_guarded
    from linkwork.compiler.trace.trace import compile_later as compile

__all__ = [
    "FEW",
    "Cache",
    "CodeStatistics",
    "Deadline",
    "Kernel",
    "PiecewiseKernel",
    "Port",
    "Space",
    "arithmetic",
    "batch_call",
    "cache_location",
    "call_state",
    "code_statistics",
    "compilations",
    "compile",
    "compile_guarded",
    "compile_piecewise",
    "get_num_threads",
    "host",
    "levels",
    "make_call_ready",
    "make_ready",
    "make_single_call",
    "operations_of",
    "recycled",
    "result_digest",
    "set_num_threads",
    "single_call",
    "stored_array",
    "wait_for_compiler",
    "wait_for_shared_state",
    "waiting",
]

if not TYPE_CHECKING:
    _imported, _, _ = public_names(
        __name__,
        {
            "linkwork.compiler.backends": "wait_for_compiler",
            "linkwork.compiler.cache.disk_cache": "Cache cache_location",
            "linkwork.compiler.cache.own_files": "wait_for_shared_state",
            "linkwork.compiler.cache.stored_arrays": "stored_array",
            "linkwork.compiler.codegen.target": "host levels",
            "linkwork.compiler.derivatives.tangent_spaces": "Space",
            "linkwork.compiler.kernel": "Kernel batch_call call_state make_single_call single_call",
            "linkwork.compiler.kernel_code": "Deadline compilations waiting",
            "linkwork.compiler.operation_counts": "arithmetic operations_of",
            "linkwork.compiler.port": "Port",
            "linkwork.compiler.prepared_code": "make_call_ready make_ready",
            "linkwork.compiler.runtime.buffer_pool": "empty",
            "linkwork.compiler.runtime.code_statistics": "CodeStatistics code_statistics",
            "linkwork.compiler.runtime.loop_state": "FEW",
            "linkwork.compiler.runtime.piecewise_kernel": "PiecewiseKernel compile_piecewise",
            "linkwork.compiler.runtime.threads": "get_num_threads set_num_threads",
            "linkwork.compiler.trace.result_digest": "result_digest",
            "linkwork.compiler.trace.trace": "compile_guarded compile_later",
        },
    )

    def __getattr__(name: str) -> object:
        return _imported({"compile": "compile_later", "recycled": "empty"}.get(name, name))
