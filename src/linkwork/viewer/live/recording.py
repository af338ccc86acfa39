"""Recording of what a live page shows, as a document with all frames of time."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.viewer.document import Actor, Arrows, SceneDocument

__all__ = ["Recorder"]

_MOST_FRAMES = 200_000  # of a recording, which then ends


class Recorder:
    """Frames of a recording: times, configurations of all robots, and arrows by their name."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._lock = threading.Lock()
        self._frames: list[tuple[float, list[np.ndarray], dict[str, tuple[np.ndarray, np.ndarray]]]] = []

    def __len__(self) -> int:
        return len(self._frames)

    def clear(self) -> None:
        """Remove all frames."""
        with self._lock:
            self._frames.clear()

    def add(
        self, t: float, configurations: Sequence[np.ndarray], arrows: Mapping[str, tuple[np.ndarray, np.ndarray]]
    ) -> None:
        """Add a frame at a time [s], unless it is less than the interval after the last one."""
        with self._lock:
            if len(self._frames) >= _MOST_FRAMES:
                return
            if self._frames and t < self._frames[-1][0] + self._interval * (1.0 - 1e-6):
                return
            self._frames.append((t, [np.array(q) for q in configurations], dict(arrows)))

    def document(
        self, shown: SceneDocument, robots: Sequence[int], arrow_styles: Mapping[str, tuple[Any, float]]
    ) -> SceneDocument:
        """Return the recording as a scene document; ``shown`` is the page's document, whose other content is constant.

        ``robots`` are the indices of the actors whose configurations are recorded, in their order in the frames.
        ``arrow_styles`` are the colour and the scale of arrows by name.
        """
        with self._lock:
            frames = list(self._frames)
        times = np.array([t for t, _, _ in frames])
        actors = tuple(
            _moving(actor, np.stack([q[robots.index(k)] for _, q, _ in frames]))
            if k in robots
            else _repeated(actor, len(frames))
            for k, actor in enumerate(shown.actors)
        )
        arrows = tuple(
            _arrows(name, [arrows.get(name) for _, _, arrows in frames], *style)
            for name, style in arrow_styles.items()
            if any(name in arrows for _, _, arrows in frames)
        )
        immobile = tuple(
            replace(
                item,
                starts=np.repeat(item.starts[:1], len(frames), axis=0),
                vectors=np.repeat(item.vectors[:1], len(frames), axis=0),
                visible=np.repeat(item.visible[:1], len(frames), axis=0),
            )
            for item in shown.arrows
        )
        return replace(shown, times=times - times[0], actors=actors, arrows=(*immobile, *arrows), plots=())


def _moving(actor: Actor, q: np.ndarray) -> Actor:
    poses = np.asarray(actor.robot.forward_kinematics(q))
    if actor.offsets is not None:
        poses = actor.offsets[None, :, None] @ poses
    return replace(actor, q=q, poses=poses)


def _repeated(actor: Actor, count: int) -> Actor:
    return replace(actor, q=np.repeat(actor.q[:1], count, axis=0), poses=np.repeat(actor.poses[:1], count, axis=0))


def _arrows(name: str, frames: Sequence[tuple[np.ndarray, np.ndarray] | None], color: Any, scale: float) -> Arrows:
    """Return arrows over time; frames with fewer arrows than the largest number have hidden ones."""
    most = max(len(frame[0]) for frame in frames if frame is not None)
    starts, vectors = np.zeros((2, len(frames), most, 3))
    visible = np.zeros((len(frames), most), dtype=bool)
    for k, frame in enumerate(frames):
        if frame is not None:
            count = len(frame[0])
            starts[k, :count], vectors[k, :count], visible[k, :count] = frame[0], frame[1], True
    return Arrows(name, starts, vectors, visible, color, scale)
