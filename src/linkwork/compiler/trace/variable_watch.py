"""Detection of variables that change after the trace of a function, whose kernel has the old values.

The code of a single call counts the kernel's calls.  Variables are compared at the calls 1, 2, 4, 8 and so on, and from
then on at every 65 536th: a steady call costs the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from linkwork._util.user_frames import levels_up, source_of
from linkwork.compiler.trace.user_state import UserState, function_state
from linkwork.errors import TraceWarning

__all__ = ["VariableWatch", "counted"]

_MAX_CALLS = 2**16  # between two comparisons: their time is less than 1 % of that of so many calls
_MAX_NAMES = 3  # of variables in a warning


class VariableWatch:
    """The variables of users that a traced function reads, as they were in the trace."""

    def __init__(self, name: str, function: Callable[..., Any], traced: UserState) -> None:
        self.name, self.function, self.traced = name, function, traced
        self.calls = 1  # until the next comparison
        self._left = 1  # of these, where no machine code counts
        self._last = traced

    @classmethod
    def of(cls, name: str, function: Callable[..., Any]) -> VariableWatch | None:
        """Return the watch of a function that was traced just now; None if no code of users is known."""
        traced = function_state(function)
        return None if traced is None else cls(name, function, traced)

    def derived(self, name: str) -> VariableWatch:
        """Return the watch of a kernel that is made from the function's program."""
        return VariableWatch(name, self.function, self.traced)

    def count(self) -> None:
        """Count a call, and compare if it is its turn."""
        self._left -= 1
        if self._left <= 0:  # another thread may have counted as well
            self._left = self.count_to_next()
            self.warn()

    def count_to_next(self) -> int:
        """Return the number of calls until the next comparison."""
        calls, self.calls = self.calls, min(2 * self.calls, _MAX_CALLS)
        return calls

    def warn(self) -> None:
        """Warn about variables that differ from the trace and have changed since the last comparison."""
        try:
            now = function_state(self.function)
        except Exception:  # an object that refuses to be read, or that another thread changes now
            return
        if now is None or now == self._last:
            return
        changed = [key for key, parts in self.traced.items() if now.get(key) not in (parts, self._last.get(key))]
        changed = [key for key in changed if key in now] or changed  # other code may read fewer variables
        self._last = now
        if changed:
            names, source = ", ".join(changed[:_MAX_NAMES]), source_of(self.function)
            names += " and others have" if len(changed) > _MAX_NAMES else " has" if len(changed) == 1 else " have"
            warnings.warn(
                f"{self.name}: {names} changed since the function{f' ({source})' if source else ''} was compiled, and "
                f"the kernel computes with the old values: pass them as arguments, or compile the function again",
                TraceWarning,
                stacklevel=levels_up(),
            )


def counted(call: Callable[..., Any], watch: VariableWatch) -> Callable[..., Any]:
    """Return a call that counts for the watch."""

    def counting(*arguments: Any, **named: Any) -> Any:
        watch.count()
        return call(*arguments, **named)

    return counting
