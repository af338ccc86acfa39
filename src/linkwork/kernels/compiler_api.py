"""The compiler's public interface for the packages above `kernels`."""

from linkwork.compiler.backends import wait_for_compiler as wait_for_compiler
from linkwork.compiler.cache.disk_cache import Cache as Cache
from linkwork.compiler.cache.disk_cache import cache_location as cache_location
from linkwork.compiler.cache.own_files import wait_for_shared_state as wait_for_shared_state
from linkwork.compiler.cache.stored_arrays import stored_array as stored_array
from linkwork.compiler.codegen.target import host as host
from linkwork.compiler.codegen.target import levels as levels
from linkwork.compiler.derivatives.tangent_spaces import Space as Space
from linkwork.compiler.kernel import Kernel as Kernel
from linkwork.compiler.kernel import batch_call as batch_call
from linkwork.compiler.kernel import call_state as call_state
from linkwork.compiler.kernel import make_single_call as make_single_call
from linkwork.compiler.kernel import single_call as single_call
from linkwork.compiler.kernel_code import compilations as compilations
from linkwork.compiler.operation_counts import operations_of as operations_of
from linkwork.compiler.prepared_code import make_ready as make_ready
from linkwork.compiler.prepared_code import make_ready_later as make_ready_later
from linkwork.compiler.program import Port as Port
from linkwork.compiler.program import arithmetic as arithmetic
from linkwork.compiler.runtime.buffer_pool import empty as recycled
from linkwork.compiler.runtime.code_statistics import CodeStatistics as CodeStatistics
from linkwork.compiler.runtime.code_statistics import code_statistics as code_statistics
from linkwork.compiler.runtime.loop_state import FEW as FEW
from linkwork.compiler.runtime.piecewise_kernel import PiecewiseKernel as PiecewiseKernel
from linkwork.compiler.runtime.piecewise_kernel import compile_piecewise as compile_piecewise
from linkwork.compiler.runtime.threads import available_processors as available_processors
from linkwork.compiler.runtime.threads import get_num_threads as get_num_threads
from linkwork.compiler.runtime.threads import set_num_threads as set_num_threads
from linkwork.compiler.trace.trace import compile_guarded as compile_guarded
from linkwork.compiler.trace.trace import compile_later as compile

__all__ = [
    "FEW",
    "Cache",
    "CodeStatistics",
    "Kernel",
    "PiecewiseKernel",
    "Port",
    "Space",
    "arithmetic",
    "available_processors",
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
    "make_ready",
    "make_ready_later",
    "make_single_call",
    "operations_of",
    "recycled",
    "set_num_threads",
    "single_call",
    "stored_array",
    "wait_for_compiler",
]
