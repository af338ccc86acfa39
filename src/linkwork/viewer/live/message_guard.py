"""Checks of the messages that pages send to a live page: an invalid one is dropped, with one line in the log.

viser takes attributes and values of controls as they come, and prints a traceback for a message that it cannot read.
The log is that of `logging` with the name "linkwork.viewer", at the level INFO, which Python does not print by default.
An error of a handler of a valid message is a WARNING.
"""

from __future__ import annotations

import asyncio
import logging
import math
import warnings
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakSet

from linkwork._util.messages import cut, escaped

__all__ = ["guard_messages"]

_log = logging.getLogger("linkwork.viewer")
_LONGEST = 200  # characters of an error in the log

Handler = Callable[[int, Any], Awaitable[None]]


def guard_messages(server: Any) -> None:
    """Drop invalid messages to a viser server, of all its connections.  A message that is no message ends its own."""
    connections = server._websock_server
    controls = server.gui._gui_input_handle_from_uuid
    connections._handle_incoming_message = _guarded(connections._handle_incoming_message, controls)

    async def guard(connection: Any) -> None:
        connection._handle_incoming_message = _guarded(connection._handle_incoming_message, controls)

    connections.on_client_connect(guard)
    loop = connections._background_event_loop
    loop.set_exception_handler(lambda _, context: _report(context.get("exception") or context.get("message")))
    _LOOPS.add(loop)
    logging.getLogger("websockets.server").addFilter(_is_foreign)  # a filter is added once
    warnings.filterwarnings("ignore", r"\[viser\] .* does not match annotation", UserWarning, "viser")


_LOOPS: WeakSet[asyncio.AbstractEventLoop] = WeakSet()  # of the servers whose messages are guarded


def _is_foreign(record: logging.LogRecord) -> bool:
    """Return False for an error of a guarded server's connection, which is reported in one line instead."""
    connection = getattr(record, "websocket", None)
    if connection is None or connection.loop not in _LOOPS or not record.exc_info:
        return True
    _report(record.exc_info[1])
    return False


def _report(error: Any, level: int = logging.INFO) -> None:
    text = cut(escaped(f"{type(error).__name__}: {error}"), _LONGEST)
    _log.log(level, "a message to the live page is dropped: %s", text)


def _guarded(handle: Handler, controls: Any) -> Handler:
    """Return a handler of messages that calls ``handle`` for valid ones and raises no error."""

    async def checked(client: int, message: Any) -> None:
        try:
            _check(message, controls)
        except Exception as error:
            _report(error)
            return
        try:
            await handle(client, message)
        except Exception as error:  # may be a fault of a handler
            _report(error, logging.WARNING)

    return checked


def _check(message: Any, controls: Any) -> None:
    """Raise ValueError for a change of a control that its page cannot make, and for a handle that is not at a pose."""
    kind = type(message).__name__
    if kind == "GuiUpdateMessage":
        control = controls.get(message.uuid)
        if control is not None and not (set(message.updates) == {"value"} and _fits(control, message.updates["value"])):
            raise ValueError(f"{message.updates!r} for a control with the value {control.value!r}")
    elif kind == "TransformControlsUpdateMessage":
        wxyz, position = message.wxyz, message.position
        if not (_is_vector(wxyz, 4) and any(wxyz) and _is_vector(position, 3)):
            raise ValueError(f"a handle at {position!r} with the quaternion {wxyz!r}")
    elif kind.startswith("ShareUrl"):
        raise ValueError("a page is never shared")


def _fits(control: Any, value: Any) -> bool:
    """Return True if a control can have a value: of its type, in its range, one of its options."""
    now = control.value
    if getattr(control, "disabled", False):
        return False
    if isinstance(now, bool):
        return isinstance(value, bool)
    if isinstance(now, float | int):
        low, high = getattr(control, "min", -_LARGEST), getattr(control, "max", _LARGEST)
        slack = getattr(control, "step", 0.0)  # sliders round their ends to it
        return _is_number(value) and low - slack <= value <= high + slack
    return isinstance(value, str) and isinstance(now, str) and value in getattr(control, "options", (value,))


def _is_vector(values: Any, size: int) -> bool:
    return isinstance(values, tuple | list) and len(values) == size and all(map(_is_number, values))


def _is_number(x: Any) -> bool:
    return isinstance(x, float | int) and not isinstance(x, bool) and abs(x) < _LARGEST and math.isfinite(x)


_LARGEST = 1e12  # of a number of a page [m, rad, °]; products of such numbers are finite
