"""Pictures and films without a window: sizes, contents, arguments, and missing tools."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from helpers.browser import executable, is_blank
from helpers.documents import robot_document, wave
from linkwork.errors import ArgumentError
from linkwork.viewer.document import Lines, Points
from linkwork.viewer.pictures import write_mp4, write_png

needs_browser = pytest.mark.skipif(executable() is None, reason="pictures need Chromium: apt-get install chromium")


def document(steps=3):
    robot = lw.load("arm7")
    return robot_document(robot, wave(robot, steps))


def read(path):
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(path).convert("RGB"))


@pytest.mark.slow(every=5)
@needs_browser
def test_scenes_can_be_written_as_png_pictures(tmp_path):
    pytest.importorskip("playwright")

    async def in_a_loop():
        return write_png(document(), tmp_path / "last.png", time=2.0, size=(320, 200), theme="dark")

    picture = read(asyncio.run(in_a_loop())).astype(int)
    assert picture.shape == (200, 320, 3) and not is_blank(picture) and picture[0].mean() < 60
    assert 0.005 < (picture[..., 2] - picture[..., 0] > 60).mean() < 0.5


@pytest.mark.slow(every=5)
@needs_browser
def test_ground_of_pictures_hides_neither_tables_below_zero_nor_points_that_move_below_it(tmp_path):
    pytest.importorskip("playwright")
    table = lw.Scene().with_box("table", (1.2, 1.6, 0.05), (0.3, 0.1, -0.03))  # 5 mm below the base
    scene = lw.viewer.scene_document(lw.load("arm7"), scene=table)
    camera = ((1.9, -2.1, 1.6), (0.2, 0.1, 0.2))
    picture = read(write_png(scene, tmp_path / "table.png", size=(320, 240), camera=camera)).astype(int)
    table_pixels = (abs(picture - picture[..., :1]).max(axis=-1) > 8) & (picture[..., 0] > picture[..., 2])
    assert 0.2 < table_pixels.mean() < 0.6

    heights = np.full((9, 1, 3), 0.3)
    heights[1] = -0.4  # between the frames from which the page measures its scene
    points = Points("ball", heights * [[[0.4, 0.5, 1.0]]], np.array([[255, 128, 0, 255]], "u1"), 0.3)
    film = replace(document(9), points=(points,))
    oranges = []
    for time in (0.0, 1.0):
        drawn = read(write_png(film, tmp_path / "ball.png", time=time, size=(320, 240), camera=camera)).astype(int)
        oranges.append((drawn[..., 0] - drawn[..., 2] > 100).sum())
    assert 0.4 * oranges[0] < oranges[1] < oranges[0]


@pytest.mark.slow
@needs_browser
@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="films need ffmpeg on PATH")
def test_scenes_can_be_written_as_mp4_films(tmp_path):
    pytest.importorskip("playwright")
    path = write_mp4(document(), tmp_path / "film.mp4", fps=5.0, speed=2.0, size=(128, 96))
    probe = shutil.which("ffprobe")
    assert path.read_bytes()[4:8] == b"ftyp"
    if probe is not None:
        command = [probe, "-v", "error", "-count_frames", "-show_streams", "-of", "json", str(path)]
        [stream] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["streams"]
        assert (stream["width"], stream["height"], stream["nb_read_frames"]) == (128, 96, "6")
    assert [file.name for file in tmp_path.iterdir()] == ["film.mp4"]


def test_wrong_arguments_and_missing_tools_of_scene_pictures_are_reported(tmp_path, monkeypatch):
    scene, path = document(), tmp_path / "x.png"
    cases = [
        (write_png, {"camera": "frnt"}, "camera: expected .*perspective.*got 'frnt'"),
        (write_png, {"camera": ((0, 0, 0), (0, 0, 0))}, "camera: expected two different points"),
        (write_png, {"camera": ((0, 0, np.nan), (0, 0, 0))}, "camera: expected an array of finite numbers"),
        (write_png, {"size": (10, 10)}, "size: expected an integer from 16 to 8192, got 10"),
        (write_png, {"time": np.inf}, "time: expected a finite number"),
        (write_png, {"time": 7.0}, "time: expected a time from 0 to 2 s, got 7"),
        (write_png, {"theme": "blue"}, "theme: expected"),
        (write_mp4, {"size": (101, 100)}, "size: expected an even width and height"),
        (write_mp4, {"fps": 0.0}, "fps: expected"),
    ]
    for function, options, message in cases:
        with pytest.raises((ValueError, ArgumentError), match=f"{function.__name__}: {message}"):
            function(scene, path, **options)
    still_document = replace(robot_document(lw.load("arm7"), np.zeros((1, 1, 7))))
    with pytest.raises(ValueError, match="write_mp4: document: expected several times, got one; write a picture"):
        write_mp4(still_document, path)
    with pytest.raises(FileNotFoundError, match="no directory"):
        write_png(scene, tmp_path / "missing" / "x.png")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(RuntimeError, match=r'needs ffmpeg, which is not on PATH: pip install "linkwork\[pictures\]"'):
        write_mp4(scene, path)
    stopped = []

    class LateError(Exception):
        """Timeout of the browser."""

    class Browser:
        """Browser that draws nothing in time."""

        def __getattr__(self, name):
            return lambda *arguments, **options: self

        def __enter__(self):
            return self

        def __exit__(self, *error):
            stopped.append(True)

        def screenshot(self, **options):
            raise LateError

    browser = SimpleNamespace(Error=Exception, TimeoutError=LateError, sync_playwright=Browser)
    Browser.chromium = Browser()
    monkeypatch.setitem(sys.modules, "playwright", SimpleNamespace(sync_api=browser))
    monkeypatch.setitem(sys.modules, "playwright.sync_api", browser)
    with pytest.raises(RuntimeError, match="write_png: Chromium did not draw the picture within 300 s; draw less"):
        write_png(scene, path)
    assert stopped == [True]
    monkeypatch.setitem(sys.modules, "playwright", None)
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(ImportError, match=r'needs playwright, .*: pip install "linkwork\[pictures\]"'):
        write_png(scene, path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(every=5)
@needs_browser
def test_paths_behind_surfaces_shine_through_them(tmp_path):
    pytest.importorskip("playwright")
    scene = lw.viewer.scene_document(lw.Scene().with_box("wall", (0.1, 1.0, 1.0), (0.0, 0.0, 0.0)))
    ends = np.array([[-0.5, -1.0, 0.0], [-0.5, 1.0, 0.0]])
    line = Lines("path", np.linspace(*ends, 9), (1.0, 0.0, 0.0, 1.0), width=6.0)
    camera = ((3.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    options = {"size": (320, 240), "camera": camera}
    plain = read(write_png(scene, tmp_path / "plain.png", **options)).astype(int)
    drawn = read(write_png(replace(scene, lines=(line,)), tmp_path / "line.png", **options)).astype(int)
    red, of_wall = (x[120, :, 0] - x[120, :, 1:].max(axis=-1) for x in (drawn, plain))
    middle = red[140:180] - of_wall[140:180]
    assert (red > 200).sum() > 20 and red[160] < 150  # beside the wall, and behind it
    assert middle.min() > 20 and middle.max() < 150
    before = replace(line, points=line.points + np.array([1.0, 0.0, 0.0]))
    drawn = read(write_png(replace(scene, lines=(before,)), tmp_path / "before.png", **options)).astype(int)
    assert (drawn[120, 140:180, 0] - drawn[120, 140:180, 1]).min() > 200


@pytest.mark.slow(every=5)
def test_pictures_of_motions_show_the_whole_motion_unless_a_time_is_chosen(tmp_path, monkeypatch):
    documents, times = [], []

    def drawn(caller, document, view, size, theme, moments, kind):
        documents.append(document)
        times.append(moments[0])
        return [b"picture"]

    monkeypatch.setattr("linkwork.viewer.pictures._drawn", drawn)
    robot = lw.load("arm6")
    curve = robot.spline([0.0, 1.0], [robot.neutral(), robot.neutral() + 0.5])
    (name,) = (problem := robot.ik_problem(lw.ik.PoseTask("tool"))).shapes
    followed = problem.follow(curve(0.0).q, **{name: robot.pose(curve(np.linspace(0.0, 1.0, 9)).q, "tool")})
    run = robot.simulate(robot.neutral(), duration=0.2, dt=0.01)
    for contents in (curve, followed, run):
        for options, count in (({}, 6), ({"time": 0.1}, 0), ({"ghosts": 2}, 2), ({"ghosts": 3, "time": 0.1}, 3)):
            contents.show(png=tmp_path / "motion.png", **options)
            (robot_at_times, *ghosts) = documents[-1].actors
            assert sum(actor.q.shape[1] for actor in ghosts) == count, (contents, options)
            assert times[-1] == options.get("time", 0.0)
            if count:
                assert ghosts[0].q[0, -1] == pytest.approx(robot_at_times.q[-1, 0])  # the last ghost is at the end
