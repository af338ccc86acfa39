"""Small documents of robots for live pages, and a program that acts on a page as a browser does."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from linkwork.viewer.document import Actor, Part, SceneDocument, Surface
from linkwork.viewer.rotations import quaternions

__all__ = ["PageClient", "box_surface", "small_document"]


def box_surface(x: float, y: float, z: float) -> Surface:
    """Return a box about the origin, with its edge lengths [m]."""
    corners = [[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)]
    sides = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    triangles = [[a, b, c] for a, b, c, d in sides] + [[a, c, d] for a, b, c, d in sides]
    vertices = np.array(corners, dtype=np.float32) * np.array([x, y, z], dtype=np.float32)
    return Surface(vertices, np.array(triangles, dtype=np.uint32))


def small_document(
    robot: Any, q: Any = None, *, times: Any = (0.0,), offsets: Any = None, obstacles: Any = None, **more: Any
) -> SceneDocument:
    """Return a document of a robot with a box for each body: ``q`` (T, n, nq) or (nq,), by default neutral."""
    q = np.asarray(robot.neutral() if q is None else q, dtype=float)
    q = q if q.ndim == 3 else q.reshape(1, 1, -1)
    poses = np.asarray(robot.forward_kinematics(q))
    if offsets is not None:
        poses = offsets[None, :, None] @ poses
    position = np.eye(4)
    position[:3, 3] = 0.01, 0.02, 0.03
    parts = [
        Part(0, body, position, color, layer, link)
        for body, link in enumerate(robot.bodies)
        for layer, color in (("visual", (0.2, 0.4, 0.8, 1.0)), ("collision", (0.8, 0.4, 0.2, 0.5)))
    ]
    actor = Actor(robot.name, robot, q, poses, tuple(parts), offsets=offsets, obstacles=obstacles)
    surfaces = (box_surface(0.05, 0.05, 0.1), *more.pop("surfaces", ()))
    return SceneDocument(robot.name, np.asarray(times, dtype=float), surfaces, (actor,), **more)


class PageClient:
    """Connection to a live page that sends the messages of a browser, as somebody moves controls there."""

    def __init__(self, view: Any, origin: str | None = None) -> None:
        import viser
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.client import connect

        self.page = view._page
        self._fence = self.page.server.gui.add_checkbox("arrived", False, visible=False)
        address = view.url.replace("http", "ws", 1)
        self._socket = connect(
            address, subprotocols=[f"viser-v{viser.__version__}"], origin=origin, max_size=None, compression=None
        )
        camera = {"wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0, 0.0, 0.0), "fov": 1.0, "near": 0.1, "far": 10.0}
        view_of = {"image_height": 10, "image_width": 10, "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0)}
        with contextlib.suppress(ConnectionClosed):  # by a page that refuses the origin
            self.send("ViewerCameraMessage", **camera, **view_of)

    def send(self, kind: str, **fields: Any) -> None:
        """Send a message of viser's protocol."""
        import msgspec
        from viser import _messages

        self._socket.send(msgspec.msgpack.encode(getattr(_messages, kind)(**fields).as_serializable_dict()))

    def change(self, control: Any, value: Any) -> None:
        """Change a control, and wait until the page has followed."""
        self.send("GuiUpdateMessage", uuid=control._impl.uuid, updates={"value": value})
        self.settle()

    def click(self, button: Any) -> None:
        """Click a button."""
        self.change(button, True)

    def drag(self, control: Any, X: np.ndarray, *, steps: int = 5) -> None:
        """Drag a handle from its pose to the position and orientation of X (4, 4), and release it."""
        begin = np.array(control.position)
        wxyz = tuple(map(float, quaternions(X[:3, :3])))
        self.send("TransformControlsDragStartMessage", name=control.name)
        for k in range(1, steps + 1):
            position = tuple(map(float, begin + k / steps * (X[:3, 3] - begin)))
            self.send("TransformControlsUpdateMessage", name=control.name, wxyz=wxyz, position=position)
            self.settle()
        self.send("TransformControlsDragEndMessage", name=control.name)
        self.settle()

    def settle(self) -> None:
        """Wait until all messages have arrived, and until all jobs that they caused are done."""
        target = not self._fence.value
        self.send("GuiUpdateMessage", uuid=self._fence._impl.uuid, updates={"value": target})
        end = time.monotonic() + 120.0
        while self._fence.value != target:
            assert time.monotonic() < end, "the messages did not arrive"
            time.sleep(0.002)
        assert self.page.worker.settle(120.0)

    def downloaded(self) -> tuple[str, bytes]:
        """Read until a file has arrived; return its name and its content."""
        name, content, count = "", {}, -1
        for message in self.messages():
            if message["type"] == "FileTransferStartDownload":
                name, count = message["filename"], message["part_count"]
            elif message["type"] == "FileTransferPart":
                content[message["part_index"]] = message["content"]
            if len(content) == count:
                break
        return name, b"".join(content[k] for k in range(count))

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield the messages of the page, without the contents of arrays."""
        import msgspec
        import zstandard

        while True:
            data = self._socket.recv(timeout=120.0)
            size = int.from_bytes(data[8:16], "little")
            yield from msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(data[16 : 16 + size]))["messages"]

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def closed_with(self) -> int | None:
        """Read until the server closes the connection; return its code."""
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                self._socket.recv(timeout=120.0)
        except ConnectionClosed as error:
            return None if error.rcvd is None else error.rcvd.code
