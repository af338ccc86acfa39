"""State of a live page: the server, the drawings, the controls, and the worker that changes them."""

from __future__ import annotations

import math
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from linkwork._util.messages import escaped
from linkwork.viewer.bounds import document_bounds, extent, near_origin, round_length
from linkwork.viewer.document import SceneDocument
from linkwork.viewer.live.actor_drawing import ActorDrawing, draw_actor
from linkwork.viewer.live.item_drawings import (
    PAIRS,
    ArrowDrawing,
    CenterOfMass,
    ItemDrawings,
    NearestPairs,
    without_pairs,
)
from linkwork.viewer.live.joint_controls import FrameHandle, JointSliders
from linkwork.viewer.live.live_robot import LiveRobot
from linkwork.viewer.live.page_server import address_of, start_server, stop_server
from linkwork.viewer.live.recording import Recorder
from linkwork.viewer.live.time_controls import PaceControls, TimeControls
from linkwork.viewer.live.worker import PERIOD, Worker, when_changed, when_clicked
from linkwork.viewer.view_direction import clear_document

__all__ = ["LivePage"]

_GRACE = 5.0  # [s] after the last page was closed, in which it may be loaded again
_LAMPS = (("key", (3.0, -2.0, 3.0), 2.2), ("fill", (1.0, 3.0, 1.0), 0.8), ("back", (-3.0, 1.0, 2.0), 1.0))
"""Name, direction from the scene and intensity of each; viser's own lights stay, and cast shadows."""
_DISTANCE = 2.17  # of the camera at first, in radii of the robots
_OPEN = 1e-6  # [m, rad] errors of constraints above which loops count as open
_EXPECTED = (ValueError, KeyError, ImportError, OSError, RuntimeError)  # errors that the page shows, and nothing else


class LivePage:
    """State of one live page.  After the constructor, only the worker's thread changes the scene."""

    def __init__(self, document: SceneDocument, port: int | None) -> None:
        self.document = document
        near, self.origin = near_origin(document)
        self.local, self._angles = clear_document(near)
        """Document relative to an origin in the world (3,) [m], which is that of the scene in the browser."""
        self.center, self.size = extent(self.local)
        self.robots: list[LiveRobot] = []
        self.sliders: dict[str, JointSliders] = {}
        self.handles: dict[str, FrameHandle] = {}
        self.overlays: dict[str, list[Any]] = {}
        self.arrows: dict[str, ArrowDrawing] = {}
        self.arrow_styles: dict[str, tuple[Any, float]] = {}
        self.shown_arrows: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.layers: defaultdict[str, list[Any]] = defaultdict(list)
        self.layer_boxes: dict[str, Any] = {}
        self.pace: PaceControls | None = None
        self.recorder: Recorder | None = None
        self.recording_since, self.recorded_by_time = 0.0, False
        self.times: TimeControls | None = None
        self._stale: set[str] = set()
        self._error, self._closing_at = "", math.inf
        self._recorded: SceneDocument | None = None
        self.server = start_server(port)
        try:
            self.url = address_of(self.server)
            self.worker = Worker(self._publish, self._fail, self._finish)
        except BaseException:
            stop_server(self.server)
            raise
        try:
            with self.server.atomic():  # one message to the server's thread for all nodes
                self._build()
        except BaseException:
            self.worker.stop()
            raise
        self.worker.post("begin", lambda: None)

    def close(self) -> None:
        """End all threads and close the socket; a second call has no effect."""
        self.worker.stop()

    def robot(self, name: str | None) -> LiveRobot | None:
        """Return a robot by its name, or the first one; None if there is none."""
        return next((live for live in self.robots if name in (None, live.name)), None)

    def draw_arrows(self, name: str, starts: np.ndarray, vectors: np.ndarray, scale: float, color: Any) -> None:
        """Draw arrows from ``starts`` (k, 3) in the world [m], and remove earlier arrows called ``name``."""
        drawing = self.arrows.get(name)
        if drawing is None:
            drawing = ArrowDrawing(self.server.scene, f"/shown forces/{len(self.arrows)}", color, self.size)
            self.arrows[name] = drawing
            self._add_layer("forces", [drawing])
        starts = starts - self.origin
        drawing.draw(starts, starts + scale * vectors)

    def pace_controls(self) -> PaceControls:
        """Return the buttons and the speed control for the user's loop, which are added at the first call."""
        if self.pace is None:
            self.pace = PaceControls(self.server.gui)
        return self.pace

    # -- recording

    def start_recording(self) -> None:
        """Begin a new recording."""
        self.recording_since, self.recorded_by_time = time.perf_counter(), False
        self.shown_arrows = {}
        self.recorder = Recorder(PERIOD)

    def record(self, t: float | None, newest: Mapping[str, np.ndarray] = MappingProxyType({})) -> None:
        """Add the current state to the recording; ``t`` [s] is None for the clock's time.

        ``newest`` has the newest configurations (n, nq) by robot, which are not drawn yet.
        """
        recorder = self.recorder
        if recorder is None or (t is None and self.recorded_by_time):
            return
        if t is not None and not self.recorded_by_time:
            recorder.clear()  # frames before the program states the time
            self.recorded_by_time = True
        now = time.perf_counter() - self.recording_since if t is None else t
        recorder.add(now, [newest.get(live.name, live.q) for live in self.robots], self.shown_arrows)

    def stop_recording(self) -> SceneDocument | None:
        """Stop the recording and return it as a document; None if no frame was recorded."""
        recorder, self.recorder = self.recorder, None
        if recorder is None or not len(recorder):
            return None
        return recorder.document(self.document, [live.index for live in self.robots], self.arrow_styles)

    # -- construction

    def _build(self) -> None:
        document, scene, gui = self.local, self.server.scene, self.server.gui
        gui.configure_theme(show_share_button=False, show_logo=False, control_width="medium")
        gui.set_panel_label(escaped(document.title) or "linkwork")
        self._set_view()
        self._set_lights()
        self.drawings = [draw_actor(scene, document, actor, f"/robots/{k}") for k, actor in enumerate(document.actors)]
        is_still = len(document.times) == 1
        self.items = ItemDrawings(scene, without_pairs(document) if is_still else document, self.size)
        self.status = gui.add_text("Status", "", multiline=True, disabled=True, visible=False)
        if document.notes:
            gui.add_text("Notes", "\n".join(map(escaped, document.notes)), multiline=True, disabled=True)
        if not is_still:
            with gui.add_folder("Time"):
                self.times = TimeControls(gui, document, self.worker, self._show_time)
        else:
            self._build_robots()
        self._build_layers()
        self._build_recording()
        self._watch_pages()

    def _build_robots(self) -> None:
        gui, scene = self.server.gui, self.server.scene
        for k, (actor, drawing) in enumerate(zip(self.local.actors, self.drawings, strict=True)):
            if actor.robot is None or actor.opacity < 1.0:
                continue
            same = sum(earlier.actor.name == actor.name for earlier in self.robots)
            live = LiveRobot(f"{actor.name} ({same + 1})" if same else actor.name, k, actor, drawing)
            self.robots.append(live)
            if not live.is_single:
                continue
            with gui.add_folder(escaped(live.name) or "Joints"):
                self.sliders[live.name] = JointSliders(gui, live, self.worker)
                self.handles[live.name] = FrameHandle(gui, scene, live, self.worker, f"/robots/{k}", self.size)
            pairs = NearestPairs(scene, live, self.document, f"/robots/{k}")
            mass = CenterOfMass(scene, live, f"/robots/{k}", self.size)
            self.overlays[live.name] = [pairs, mass]
            if pairs.is_possible:
                self.layers[PAIRS].append(pairs)
            self.layers["center of mass"].append(mass)

    def _build_layers(self) -> None:
        layers: list[ActorDrawing | ItemDrawings] = [*self.drawings, self.items]
        self._layer_folder = self.server.gui.add_folder("Show")
        overlays, self.layers = self.layers, defaultdict(list)
        for drawing in layers:
            for layer, handles in drawing.by_layer.items():
                self._add_layer(layer, handles)
        for layer, handles in overlays.items():
            self._add_layer(layer, handles)

    def _build_recording(self) -> None:
        if not self.robots:
            return
        gui = self.server.gui
        with gui.add_folder("Recording", expand_by_default=False):
            self.record_button = gui.add_button("Record")
            self.save_button = gui.add_button("Save as page (HTML)", disabled=True)
        when_clicked(self.record_button, lambda: self.worker.post("record", self._toggle_recording))

        async def save(event: Any) -> None:
            self.worker.post("save", self._save_page, event.client)

        self.save_button.on_click(save)

    def _add_layer(self, layer: str, handles: list[Any]) -> None:
        """Add viser handles to a layer, whose checkbox shows and hides them."""
        self.layers[layer] += handles
        if layer not in self.layer_boxes:
            shown = layer not in self.document.hidden and (layer != PAIRS or self._begins_with_pairs)
            with self._layer_folder:
                box = self.server.gui.add_checkbox(layer.capitalize(), shown)
            self.layer_boxes[layer] = box
            when_changed(box, lambda shown: self.worker.post(("layer", layer), self.show_layer, layer, bool(shown)))
        for handle in handles:
            handle.visible = bool(self.layer_boxes[layer].value)

    def show_layer(self, layer: str, shown: bool) -> None:
        """Show or hide a layer."""
        self.layer_boxes[layer].value = shown
        for handle in self.layers[layer]:
            handle.visible = shown
        for drawing in self.drawings:
            drawing.refresh()
        for live in self.robots:
            live.redraw()

    @property
    def _begins_with_pairs(self) -> bool:
        return any(lines.layer == PAIRS for lines in self.document.lines)

    def _set_view(self) -> None:
        scene, camera = self.server.scene, self.server.initial_camera
        cell = round_length(0.4 * self.size)
        lowest = min(float(document_bounds(self.local)[0][2]), 0.0)
        scene.add_grid(
            "/grid",
            infinite_grid=True,
            cell_size=cell,
            section_size=5.0 * cell,
            cell_color=(225, 225, 225),
            section_color=(195, 195, 195),
            fade_distance=14.0 * self.size,
            shadow_opacity=0.25,
            position=(0.0, 0.0, lowest - 2e-3 * self.size),
        )
        azimuth, elevation = self._angles
        level = math.cos(elevation)
        back = np.array([level * math.cos(azimuth), level * math.sin(azimuth), math.sin(elevation)])
        camera.position = tuple(self.center + _DISTANCE * self.size * back)
        camera.look_at = tuple(self.center)
        camera.up = (0.0, 0.0, 1.0)
        camera.near, camera.far = 0.005 * self.size, 200.0 * self.size

    def _set_lights(self) -> None:
        """Light the scene by lamps: viser's environment map delays the first picture, by seconds without a GPU."""
        scene = self.server.scene
        scene.configure_environment_map(None)
        scene.add_light_ambient("/lights/ambient", intensity=0.8)
        for name, position, intensity in _LAMPS:
            scene.add_light_directional(f"/lights/{name}", position=position, intensity=intensity)

    def _watch_pages(self) -> None:
        async def changed(_: Any) -> None:
            self.worker.post("pages", self._count_pages)

        self.server.on_client_connect(changed)
        self.server.on_client_disconnect(changed)

    # -- jobs of the worker

    def _publish(self) -> float | None:
        """Draw pending changes; return the time [s] until the next drawing is due, or None."""
        now = time.monotonic()
        if now >= self._closing_at:
            self.worker.request_stop()
            return None
        waits: list[float] = [] if self._closing_at == math.inf else [self._closing_at - now]
        with self.server.atomic():
            wait = None if self.times is None else self.times.advance()
            waits += [] if wait is None else [wait]
            for live in self.robots:
                if live.draw():
                    self._error = ""
                    self._stale.add(live.name)
                    for overlay in self.overlays.get(live.name, ()):
                        overlay.draw()
                    self.record(None)
                if live.name in self.handles:
                    self.handles[live.name].follow()
            for name in [*self._stale]:
                early = self.sliders[name].follow() if name in self.sliders else None
                if early is None:
                    self._stale.discard(name)
                else:
                    waits.append(early)
            self._show_status(self._status())
        return min(waits, default=None)

    def _status(self) -> str:
        lines = [self._error] if self._error else []
        for live in self.robots:
            if live.note:
                lines.append(live.note)
            if live.constraint_error > _OPEN:
                lines.append(f"the loops are open: largest constraint error {live.constraint_error:.3g} m or rad")
            if live.reached:
                texts = (f"{coordinate.name} ({side})" for coordinate, side in live.reached)
                lines.append(f"at limits: {', '.join(texts)}")
        return "\n".join(lines)

    def _show_status(self, text: str) -> None:
        self.status.value, self.status.visible = "\n".join(map(escaped, text.split("\n"))), bool(text)

    def _fail(self, error: Exception) -> None:
        """Show the error of a job in the page, and also print its traceback if it is an unexpected error."""
        self._error = str(error) or type(error).__name__
        self._show_status(self._error)
        if not isinstance(error, _EXPECTED):
            traceback.print_exception(error, file=sys.stderr)

    def _finish(self) -> None:
        if self.pace is not None:
            self.pace.end()
        stop_server(self.server)

    def _show_time(self, index: int) -> None:
        for actor, drawing in zip(self.local.actors, self.drawings, strict=True):
            if len(actor.poses) > 1:
                drawing.move(actor.poses[index])
        self.items.show_time(index)

    def _count_pages(self) -> None:
        self._closing_at = math.inf if self.server.get_clients() else time.monotonic() + _GRACE

    def _toggle_recording(self) -> None:
        if self.recorder is None:
            self.start_recording()
            self.record(None)
        else:
            self._recorded = self.stop_recording()
        self.record_button.label = "Record" if self.recorder is None else "Stop"
        self.save_button.disabled = self.recorder is not None or self._recorded is None

    def _save_page(self, client: Any) -> None:
        """Send the last recording to the browser, which saves it as a file."""
        from linkwork.viewer.html.page import page_text

        if self._recorded is not None:
            page = page_text(self._recorded).encode()
            client.send_file_download("recording.html", page, save_immediately=True)
