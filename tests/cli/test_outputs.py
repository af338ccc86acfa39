"""Files of `--output` by their endings, and files of motions and maps in `linkwork view`."""

import csv
import json
import shutil
import subprocess

import numpy as np
import pytest

import linkwork as lw
from helpers.browser import executable
from linkwork.motion import Trajectory
from linkwork.simulation import Simulation
from linkwork.viewer import pictures

ARM = lw.load("arm6")
BEGIN = {".html": b"<!DOCTYPE html>", ".glb": b"glTF", ".png": b"\x89PNG"}


@pytest.mark.slow(every=5)
def test_plan_command_writes_its_path_in_every_format(linkwork, tmp_path):
    goal = ("--goal", "0.3", "0.3", "0.3", "0", "0", "0")
    expected = ARM.plan(np.zeros(6), [[0.3, 0.3, 0.3, 0, 0, 0]])
    timed = expected.timed(acceleration=5.0).trajectory
    for ending in (".npz", ".csv", ".yaml", ".json", ".html", ".glb"):
        file = tmp_path / f"path{ending}"
        ran = linkwork("plan", "arm6", *goal, "--acceleration", "5", "--output", str(file))
        assert ran.code == 0 and f"written to {file}" in ran.out, ran.err
        if ending in BEGIN:
            assert file.read_bytes().startswith(BEGIN[ending])
            continue
        loaded = Trajectory.load(file, robot=ARM)
        inside = np.linspace(0.0, 0.999 * timed.duration, 50)
        assert np.abs(loaded(inside).q - timed(inside).q).max() < 1e-6
    ran = linkwork("plan", "arm6", *goal, "--output", str(tmp_path / "untimed.yaml"))
    assert ran.code == 2 and "a message of ROS has times: pass --acceleration" in ran.err
    failing = ("--scene", str(tmp_path / "scene.json"), "--output", str(tmp_path / "failed.html"), "--force")
    lw.Scene().with_sphere("ball", 3.0, (0.4, 0.0, 0.4)).save(tmp_path / "scene.json")
    ran = linkwork("plan", "arm6", *goal, *failing, "--json")
    assert ran.code == 1 and json.loads(ran.out)["output"].endswith("failed.html")
    ran = linkwork("plan", "arm6", *goal, *failing[:3], str(tmp_path / "failed.npz"), "--json")
    assert json.loads(ran.out)["output"] is None and not (tmp_path / "failed.npz").exists()


@pytest.mark.slow(every=3)
def test_simulate_command_writes_its_run_in_every_format(linkwork, tmp_path):
    run = ARM.simulate(np.zeros(6), duration=0.1, dt=1e-3, record_every=10)
    for ending in (".npz", ".csv", ".yaml", ".html", ".glb"):
        file = tmp_path / f"run{ending}"
        ran = linkwork("simulate", "arm6", "--duration", "0.1", "--record-every", "10", "--output", str(file))
        assert ran.code == 0 and f"written to {file}" in ran.out, ran.err
        if ending in BEGIN:
            assert file.read_bytes().startswith(BEGIN[ending])
        elif ending == ".npz":
            assert np.array_equal(Simulation.load(file, robot=ARM).q, run.q)
        elif ending == ".csv":
            rows = [*csv.DictReader(file.read_text().splitlines())]
            assert [float(row["t"]) for row in rows] == run.t.tolist()
            assert [float(row[f"q:{ARM.q_names[1]}"]) for row in rows] == run.q[:, 1].tolist()
        else:
            assert np.abs(Trajectory.load(file, robot=ARM)(run.t[:-1]).q - run.q[:-1]).max() < 1e-8
            assert linkwork("view", "arm6", "--motion", str(file), "--glb", str(tmp_path / "m.glb")).code == 0
    for name in ("run.npz", "run.yaml"):
        ran = linkwork("view", "arm6", "--motion", str(tmp_path / name), "--html", str(tmp_path / "v.html"), "--force")
        assert ran.code == 0 and (tmp_path / "v.html").read_bytes().startswith(b"<!DOCTYPE html>"), ran.err


def test_ik_command_writes_its_configuration_in_every_format(linkwork, tmp_path):
    options = ("--frame", "tool", "--position", "0.3", "0.1", "0.4")
    q = json.loads(linkwork("ik", "arm6", *options, "--json").out)["q"]
    for ending in (".json", ".csv", ".npz", ".html", ".glb"):
        file = tmp_path / f"q{ending}"
        ran = linkwork("ik", "arm6", *options, "--output", str(file))
        assert ran.code == 0 and f"written to {file}" in ran.out, ran.err
        if ending == ".json":
            assert json.loads(file.read_text())["q"] == q
        elif ending == ".csv":
            names, values = csv.reader(file.read_text().splitlines())
            assert names == [*ARM.q_names] and [float(x) for x in values] == q
        elif ending == ".npz":
            with np.load(file) as arrays:
                assert arrays["q"].tolist() == q and arrays["q_names"].tolist() == [*ARM.q_names]
        else:
            assert file.read_bytes().startswith(BEGIN[ending])
    assert linkwork("ik", "arm6", *options, "--output", str(file)).code == 2  # it exists
    assert "ends in .json, .csv, .npz, .html, .glb or .png" in linkwork("ik", "arm6", *options, "--output", "q.txt").err


@pytest.mark.slow(every=5)
def test_map_command_writes_voxels_and_html_pages(linkwork, tmp_path):
    common = ("map", "double_pendulum", "--frame", "tip", "--samples", "2000", "--voxel-size", "0.2", "--workers", "1")
    for ending in (".csv", ".html", ".npz"):
        ran = linkwork(*common, "--output", str(tmp_path / f"map{ending}"))
        assert ran.code == 0 and "written to" in ran.out, ran.err
    result = lw.workspace.WorkspaceMap.load(tmp_path / "map.npz")
    rows = [*csv.DictReader((tmp_path / "map.csv").read_text().splitlines())]
    assert [[float(row[x]) for x in "xyz"] for row in rows] == result.points.tolist()
    for name, values in result.values.items():
        assert np.array_equal([float(row[name]) for row in rows], values)
    assert (tmp_path / "map.html").read_bytes().startswith(b"<!DOCTYPE html>")
    ran = linkwork("view", "double_pendulum", "--map", str(tmp_path / "map.npz"), "--html", str(tmp_path / "v.html"))
    assert ran.code == 0, ran.err


def test_view_command_refuses_files_that_are_no_motions_or_maps(linkwork, tmp_path):
    page = ("--html", str(tmp_path / "v.html"))
    lw.motion.spline([0.0, 1.0], [[0.0], [1.0]]).save(tmp_path / "plain.npz")
    (tmp_path / "text.csv").write_text("a,b\n1,2\n")
    (tmp_path / "text.npz").write_text("text")
    for options, said in (
        (("--motion", str(tmp_path / "none.npz")), "cannot read"),
        (("--motion", str(tmp_path / "plain.npz")), "plain.npz: "),
        (("--motion", str(tmp_path / "text.csv")), "expected a column of time"),
        (("--motion", str(tmp_path / "text.npz")), "text.npz: "),
        (("--map", str(tmp_path / "text.npz")), "text.npz: "),
        (("--motion", str(tmp_path / "text.csv"), "--q", "elbow=0"), "leave --q and --configuration out"),
        (("--motion", "a.csv", "--map", "b.npz"), "not allowed with"),
    ):
        ran = linkwork("view", "arm6", *options, *page)
        assert ran.code == 2 and said in ran.err and "these arguments" not in ran.err, ran.err
    assert "pass --motion FILE" in linkwork("view", "arm6", "--mp4", str(tmp_path / "a.mp4")).err


@pytest.mark.slow(every=9)
@pytest.mark.skipif(executable() is None or shutil.which("ffmpeg") is None, reason="films need Chromium and ffmpeg")
def test_view_command_writes_a_film_of_joined_robots(linkwork, tmp_path):
    pytest.importorskip("playwright")
    both = lw.join_robots({"left": ARM, "right": ARM.with_base(lw.pose((0.0, 1.0, 0.0)))}, name="both")
    both.save(tmp_path / "both.json")
    both.spline([0.0, 0.1], [both.neutral(), np.resize([0.9, -0.7, 0.8], 12)]).save(tmp_path / "motion.npz")
    film = tmp_path / "film.mp4"
    ran = linkwork("view", str(tmp_path / "both.json"), "--motion", str(tmp_path / "motion.npz"), "--mp4", str(film))
    assert ran.code == 0 and ran.out == f"both: {film}\n", ran.err
    command = ["ffmpeg", "-v", "error", "-i", str(film), "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    frames = np.frombuffer(subprocess.run(command, capture_output=True, check=True).stdout, np.uint8)
    frames = frames.reshape(4, 720, 1280).astype(int)  # 30 a second
    assert (np.abs(frames[-1] - frames[0]) > 40).mean() > 0.01


def test_films_without_ffmpeg_and_pictures_without_chromium_end_in_one_line(linkwork, tmp_path, monkeypatch):
    pytest.importorskip("playwright")
    file, motion = str(tmp_path / "a.mp4"), str(tmp_path / "m.npz")
    ARM.spline([0.0, 0.1], [ARM.neutral(), np.full(6, 0.1)]).save(motion)

    def missing(caller):
        raise RuntimeError(f"{caller} needs ffmpeg")

    def computed(*arguments, **options):
        raise AssertionError("the command computed before its error")

    def unavailable(*arguments, **options):
        raise RuntimeError("Chromium does not start")

    with monkeypatch.context() as patch:
        patch.setattr(pictures, "encoder", missing)
        patch.setattr(lw.Robot, "simulate", computed)
        for words in (
            ("view", "arm6", "--motion", motion, "--mp4", file),
            ("view", "arm6", "--motion", motion, "--output", file),
            ("simulate", "arm6", "--output", file),
        ):
            ran = linkwork(*words)
            assert ran.code == 1 and ran.out == "" and ran.err.startswith("linkwork: error: "), ran.err
            assert ran.err.endswith(".mp4 needs ffmpeg\n") and ran.err.count("\n") == 1
    monkeypatch.setattr(lw.Robot, "show", unavailable)
    ran = linkwork("view", "arm6", "--png", str(tmp_path / "a.png"))
    assert ran.code == 1 and ran.err == "linkwork: error: Chromium does not start\n"


def test_view_command_writes_the_file_of_output_by_its_ending(linkwork, tmp_path):
    for option in ("--output", "--glb"):
        assert linkwork("view", "double_pendulum", option, str(tmp_path / f"{option}.glb")).code == 0
    assert (tmp_path / "--output.glb").read_bytes() == (tmp_path / "--glb.glb").read_bytes()
    ran = linkwork("view", "double_pendulum", "--output", "a.csv")
    assert ran.code == 2 and "--output: expected a file that ends in .html, .glb, .png, .mp4, got a.csv" in ran.err
    ran = linkwork("view", "double_pendulum", "--output", "a.glb", "--html", "a.html")
    assert ran.code == 2 and "cannot be combined" in ran.err


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        ("plan", "--q-init", "--start"),
        ("plan", "--q", "--start"),
        ("simulate", "--q-init", "--q"),
        ("view", "--picture", "--output"),
    ],
)
def test_unknown_options_with_usual_names_are_explained(linkwork, command, option, name):
    ran = linkwork(command, "arm6", option, "0.1")
    assert ran.code == 2 and f"its name is {name}\n" in ran.err
