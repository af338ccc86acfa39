"""Server of a live page: viser on the loopback interface, for pages of this machine only.

No address outside of 127.0.0.1 is bound.  Sharing by a tunnel is switched off.  Pages of other hosts that a browser
shows at the same time cannot connect: their ``Origin`` is refused.

Invalid messages of pages are dropped, with one line in the log "linkwork.viewer" at the level INFO, which Python does
not print by default: viser takes attributes and values of controls as they come, and prints a traceback for a message
that it cannot read.  An error of a handler of a valid message is a WARNING.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import math
import socket
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

from linkwork._util.messages import cut, escaped

__all__ = ["HOST", "address_of", "is_local_origin", "start_server", "stop_server", "viser_module"]

HOST = "127.0.0.1"
_FIRST_PORT, _PORTS = 8080, 100  # ports that are tried before any free one
_LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
_POLICY_VIOLATION = 1008  # close code of a WebSocket, RFC 6455


def viser_module() -> Any:
    """Return the module viser.  Raises ImportError, with the remedy, if it is not installed."""
    try:
        import viser
    except ImportError as error:
        raise ImportError(
            'show: the live page needs viser: pip install "linkwork[viewer]"; show(html="robot.html") writes a page '
            "that needs no package"
        ) from error
    return viser


def start_server(port: int | None) -> Any:
    """Start a viser server on 127.0.0.1 and return it.

    ``port`` is by default the first free one from 8080 on.  Raises OSError if ``port`` is in use, and ImportError
    without viser.
    """
    viser = viser_module()
    chosen = _free_port() if port is None else _checked_port(port)
    with _quiet_console():
        server = viser.ViserServer(host=HOST, port=chosen, verbose=False)
    if port is not None and server.get_port() != port:  # taken since it was checked
        stop_server(server)
        raise _port_in_use(port)
    server.request_share_url = _refuse_sharing
    connections = server._websock_server
    for stop in (server.stop, connections.stop):  # the view ends at exit, and prints nothing
        atexit.unregister(stop)

    async def refuse_other_origins(connection: Any) -> None:
        live = connections._live_connections[connection.client_id]
        if not is_local_origin(live.request.headers.get("Origin")):
            await live.close(_POLICY_VIOLATION, "only pages of this machine may connect")

    connections.on_client_connect(refuse_other_origins)
    guard_messages(server)
    return server


def stop_server(server: Any) -> None:
    """Close all connections and the socket of a server, and wait for its threads."""
    with _quiet_console():
        server.stop()
    server._thread_executor.shutdown(wait=True)


def address_of(server: Any) -> str:
    """Return the address of a server's page."""
    return f"http://{HOST}:{server.get_port()}"


def is_local_origin(origin: str | None) -> bool:
    """Return True if ``origin``, of a web page, is on this machine, and for None, from a program that is no browser.

    Any port is accepted, so that a forwarded port (``ssh -L``) works.
    """
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.hostname in _LOCAL_NAMES
    except ValueError:
        return False


def _refuse_sharing(verbose: bool = True) -> None:
    """Replacement for viser's function that shares a page by a tunnel: it does nothing and returns no address."""


def _free_port() -> int:
    for port in range(_FIRST_PORT, _FIRST_PORT + _PORTS):
        if _can_bind(port):
            return port
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as any_port:
        any_port.bind((HOST, 0))
        return int(any_port.getsockname()[1])


def _checked_port(port: int) -> int:
    if not _can_bind(port):
        raise _port_in_use(port)
    return port


def _can_bind(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does: closed pages do not block
        try:
            probe.bind((HOST, port))
            probe.listen(1)
        except OSError:
            return False
    return True


def _port_in_use(port: int) -> OSError:
    return OSError(f"show: port: expected a free port of {HOST}, got {port}, which is in use; omit port for a free one")


@contextlib.contextmanager
def _quiet_console() -> Iterator[None]:
    """Suppress the messages of viser at its start and stop, which would mix with the program's output."""
    import rich

    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


# -- messages of pages


_log = logging.getLogger("linkwork.viewer")
_LONGEST = 200  # characters of an error in the log

Handler = Callable[[int, Any], Awaitable[None]]


def guard_messages(server: Any) -> None:
    """Make a viser server drop invalid messages; a connection that sends other data than viser's messages is closed."""
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
    """Return False for log records of errors in a guarded server's connection, which one line reports instead."""
    connection = getattr(record, "websocket", None)
    if connection is None or connection.loop not in _LOOPS or not record.exc_info:
        return True
    _report(record.exc_info[1])
    return False


def _report(error: Any, level: int = logging.INFO) -> None:
    text = cut(escaped(f"{type(error).__name__}: {error}"), _LONGEST)
    _log.log(level, "a message to the live page is dropped: %s", text)


def _guarded(handle: Handler, controls: Any) -> Handler:
    """Return a message handler that calls ``handle`` for valid messages, and logs errors instead of raising them."""

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
    """Raise ValueError for a message that a page cannot send: a value its control cannot have, or an invalid pose."""
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
    """Return True if a control can have a value: of its type, in its range, and one of its options."""
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
