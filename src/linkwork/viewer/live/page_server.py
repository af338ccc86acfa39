"""Server of a live page: viser on the loopback interface, for pages of this machine only.

No address outside of 127.0.0.1 is bound.  Sharing by a tunnel is switched off.  Pages of other hosts that a browser
shows at the same time cannot connect: their ``Origin`` is refused.
"""

from __future__ import annotations

import atexit
import contextlib
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from linkwork.viewer.live.message_guard import guard_messages

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
    """Return True for the origin of a page of this machine, and for a program without one.

    Each port counts, so that a forwarded port (``ssh -L``) works.
    """
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.hostname in _LOCAL_NAMES
    except ValueError:
        return False


def _refuse_sharing(verbose: bool = True) -> None:
    """Return no address: a page is never shared outside of this machine."""


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
