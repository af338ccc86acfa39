"""What the rooms above may know of the compiler."""

from ..compiler.along_calls import Along as Along
from ..compiler.along_calls import compile_along as compile_along
from ..compiler.cache import Cache as Cache
from ..compiler.cache import place as cache_place
from ..compiler.counts import operations_of as operations_of
from ..compiler.derivatives.spaces import Space as Space
from ..compiler.facts import CodeFacts as CodeFacts
from ..compiler.facts import code_facts as code_facts
from ..compiler.kernel import Kernel as Kernel
from ..compiler.kernel import call_state as call_state
from ..compiler.kernel import make_ready as make_ready
from ..compiler.kernel import single_call as single_call
from ..compiler.program import Port as Port
from ..compiler.program import arithmetic as arithmetic
from ..compiler.recycled import empty as recycled
from ..compiler.target import host as host
from ..compiler.target import levels as levels
from ..compiler.threads import get_num_threads as get_num_threads
from ..compiler.threads import set_num_threads as set_num_threads
from ..compiler.trace import compile as compile
from ..compiler.trace import compile_guarded as compile_guarded

__all__ = [
    "Along",
    "Cache",
    "CodeFacts",
    "Kernel",
    "Port",
    "Space",
    "arithmetic",
    "cache_place",
    "call_state",
    "code_facts",
    "compile",
    "compile_along",
    "compile_guarded",
    "get_num_threads",
    "host",
    "levels",
    "make_ready",
    "operations_of",
    "recycled",
    "set_num_threads",
    "single_call",
]
