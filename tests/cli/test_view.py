"""The command `linkwork view`: the page that it serves, the files that it writes, and refused options."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import linkwork as lw
from helpers.live_pages import PageClient
from linkwork._util import own_code
from linkwork.viewer import pictures
from linkwork.viewer.live import page_state


@pytest.mark.slow(every=5)
def test_view_command_serves_its_page_until_the_browser_window_is_closed(linkwork, monkeypatch, tmp_path):
    pytest.importorskip("viser", reason='live pages need viser: pip install "linkwork[viewer]"')
    monkeypatch.setattr(page_state, "_GRACE", 0.0)
    scene = tmp_path / "scene.json"
    scene.write_text(lw.Scene().with_sphere("ball", 0.1, (0.6, 0, 0.6)).to_json(), encoding="utf-8")
    shown = []

    def visit(view):
        shown.append((view.url, view.q, view._page.document.actors[0].obstacles))
        client = PageClient(view)
        client.settle()
        client.close()

    waiting = lw.viewer.View.wait

    def wait(view, timeout=None):
        window = threading.Thread(target=visit, args=(view,))
        window.start()
        window.join(120.0)
        return waiting(view, 120.0)

    monkeypatch.setattr(lw.viewer.View, "wait", wait)
    options = ("--q", "elbow=-1.25", "--scene", str(scene), "--no-browser")
    data = json.loads(linkwork("view", "arm7", *options, "--json").out)
    ran = linkwork("view", "arm7", *options)
    assert (data["name"], data["url"]) == ("arm7", shown[0][0])
    assert ran.code == 0 and ran.out.splitlines()[0] == f"arm7: {shown[1][0]}" and ran.err == ""
    for _, q, obstacles in shown:
        np.testing.assert_array_equal(q, [0, 0, 0, -1.25, 0, 0, 0])
        assert [obstacle.name for obstacle in obstacles.obstacles] == ["ball"]


def test_view_command_writes_html_and_glb_files(linkwork, tmp_path):
    for name, begin in (("html", b"<!DOCTYPE html>"), ("glb", b"glTF")):
        file = tmp_path / f"arm.{name}"
        ran = linkwork("view", "double_pendulum", f"--{name}", str(file))
        assert ran.code == 0 and ran.out == f"double_pendulum: {file}\n"
        assert file.read_bytes().startswith(begin)
        again = linkwork("view", "double_pendulum", f"--{name}", str(file))
        assert again.code == 2 and "pass --force to replace it" in again.err
        data = json.loads(linkwork("view", "double_pendulum", f"--{name}", str(file), "--force", "--json").out)
        assert data["file"] == str(file)


def test_wrong_usage_of_the_view_command_is_refused(linkwork, tmp_path):
    for options, said in (
        (("--html", "a.html", "--png", "a.png"), "--png: cannot be combined with --html"),
        (("--html", str(tmp_path / "no" / "a.html")), "the folder does not exist"),
        (("--html", str(tmp_path)), "this is a directory"),
        (("--html", str(tmp_path / "a.png")), "html"),
        (("--q", "1", "2", "3"), "expected 2 coordinates of q ("),
        (("--q", "hip=1"), "no coordinate of q named 'hip'"),
        (("--configuration", "home"), "home"),
        (("--port", "70000"), "--port: expected an integer from 0 to 65535, got 70000"),
        (("--scene", "nowhere.json"), "cannot read nowhere.json"),
    ):
        ran = linkwork("view", "double_pendulum", *options)
        assert ran.code == 2 and said in ran.err and ran.out == "", (options, ran)


def test_view_command_draws_the_whole_motion_in_a_picture(linkwork, monkeypatch, tmp_path):
    pytest.importorskip("playwright")
    robot = lw.load("double_pendulum")
    file, drawn = tmp_path / "path.npz", []
    robot.spline([0.0, 2.0], [[0.0, 0.0], [1.0, -0.5]]).save(file)

    def write(document, path, **options):
        drawn.append((document, options))
        return Path(path)

    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(pictures, "write_png", write)
    command = ("view", "double_pendulum", "--motion", str(file), "--png", str(tmp_path / "a.png"))
    for options in ((), ("--ghosts", "3", "--frame", "upper_rod", "lower_rod"), ("--time", "1.5")):
        assert linkwork(*command, *options).code == 0
    (whole, _), (chosen, _), (single, at) = drawn
    ghosts = [[len(actor.q[0]) for actor in doc.actors if actor.name == "ghosts"] for doc in (whole, chosen, single)]
    assert ghosts == [[6], [3], []] and at["time"] == 1.5
    assert [len(doc.lines) for doc in (whole, chosen, single)] == [1, 2, 0]
    assert "--ghosts needs --motion" in linkwork("view", "double_pendulum", "--ghosts", "3").err
    assert "--frame needs --motion" in linkwork("view", "double_pendulum", "--frame", "base").err
    assert "--time needs --png" in linkwork(*command[:4], "--time", "1").err
    assert "did you mean 'lower_rod'" in linkwork(*command, "--frame", "lower_rdo").err


def test_view_command_names_the_missing_extra(linkwork, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    ran = linkwork("view", "double_pendulum", "--no-browser")
    assert ran.code == 1 and 'pip install "linkwork[viewer]"' in ran.err


@pytest.mark.slow(every=5)
def test_importing_linkwork_does_not_import_viser():
    names = ("viser", "trimesh", "PIL", "playwright")
    script = f"import sys, linkwork; linkwork.load('arm7'); print([n for n in {names} if n in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"
