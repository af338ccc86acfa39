"""`View`: motion from a program, forces, recordings, time, and an end that leaves no thread and no socket."""

import gc
import os
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import psutil
import pytest

import linkwork as lw
from helpers.live_pages import PageClient, box_surface, small_document
from linkwork.errors import UnknownNameError
from linkwork.simulation import ContactGround, ContactPoint, ContactSensor
from linkwork.viewer.document import Arrows, FrameAxes, Lines, Part, Plot, Points, Prop, Surface, Text
from linkwork.viewer.live import page_server, page_state
from linkwork.viewer.rotations import pose_of

pytest.importorskip("viser", reason='live pages need viser: pip install "linkwork[viewer]"')

from linkwork.viewer.live import open_view

ARM = lw.load("arm7")


@pytest.fixture
def opened():
    """Function that opens a page of a document, which is closed at the end."""
    views = []

    def open_page(document, **options):
        views.append(open_view(document, open_browser=False, **options))
        return views[-1]

    yield open_page
    for view in views:
        view.close()


def settled(view):
    assert view._page.worker.settle(120.0)
    assert view._page.status.value == "" or "limits" in view._page.status.value


def test_live_page_shows_the_latest_configuration(opened):
    view = opened(small_document(ARM))
    settled(view)
    before = view._page.worker.published
    q = np.linspace(ARM.neutral(), ARM.neutral() + 0.5, 2000)
    for configuration in q:
        view.update(configuration)
    settled(view)
    np.testing.assert_array_equal(view.q, q[-1])
    bodies = view._page.drawings[0].bodies
    drawn = [pose_of(b.wxyz, b.position) for b in bodies]
    np.testing.assert_allclose(drawn, ARM.forward_kinematics(q[-1]), atol=1e-12)
    worker = view._page.worker
    assert worker.dropped + (worker.published - before) >= 2000
    assert worker.dropped > 0
    wait_until(lambda: view._page.sliders["arm7"].sliders[0].value == pytest.approx(0.5, abs=1e-3))
    view.update({"elbow": -1.0})
    settled(view)
    np.testing.assert_array_equal(view.q, [0, 0, 0, -1.0, 0, 0, 0])


def test_invalid_configurations_of_a_live_view_are_refused(opened):
    view = opened(small_document(ARM))
    for q, words in (
        ([0.0] * 6, "update: q: expected"),
        (np.full(7, np.nan), "update: q"),
        (np.zeros((2, 7)), r"update: q: expected an array of shape \(7,\), got shape \(2, 7\)"),
        ({"elbo": 1.0}, "did you mean 'elbow'"),
    ):
        with pytest.raises(ValueError, match=words):
            view.update(q)
    with pytest.raises(UnknownNameError, match=r"update: robot: no robot named 'arm'; .*arm7"):
        view.update(ARM.neutral(), robot="arm")
    with pytest.raises(ValueError, match="update: time"):
        view.update(ARM.neutral(), time=np.nan)
    with pytest.raises(ValueError, match="show_forces: forces"):
        view.show_forces(np.zeros((2, 3)), np.zeros((1, 3)))
    with pytest.raises(ValueError, match="stop_recording: nothing was recorded"):
        view.stop_recording()
    still_view = opened(replace(small_document(ARM), actors=()))
    with pytest.raises(ValueError, match="update: expected a page with a robot that can move"):
        still_view.update(ARM.neutral())
    settled(view)
    np.testing.assert_array_equal(view.q, ARM.neutral())


def test_live_page_shows_robots_of_a_batch_as_instances(opened):
    rng = np.random.default_rng(0)
    offsets = np.tile(np.eye(4), (5, 1, 1))
    offsets[:, 0, 3] = np.arange(5)
    q = rng.uniform(-1.0, 1.0, (2, 5, 7))
    document = small_document(ARM, q[:1], offsets=offsets)
    view = opened(document)
    view.update(q[1])
    settled(view)
    (visual,) = view._page.drawings[0].by_layer["visual"]
    (collision,) = view._page.drawings[0].by_layer["collision"]
    X = offsets[:, None] @ ARM.forward_kinematics(q[1]) @ document.actors[0].parts[0].placement
    assert visual.batched_positions.shape == (5 * 7, 3)
    np.testing.assert_allclose(visual.batched_positions, X[..., :3, 3].reshape(-1, 3), atol=1e-6)
    drawn = [pose_of(w, p) for w, p in zip(visual.batched_wxyzs, visual.batched_positions, strict=True)]
    np.testing.assert_allclose(drawn, X.reshape(-1, 4, 4), atol=1e-6)
    view._page.worker.post("layer", view._page.show_layer, "collision", True)
    settled(view)
    np.testing.assert_array_equal(collision.batched_positions, visual.batched_positions)
    with pytest.raises(ValueError, match=r"expected an array of shape \(5, 7\), got shape \(7,\)"):
        view.update(q[0, 0])


def test_live_page_shows_robots_side_by_side_with_their_bases_apart(opened):
    base = np.eye(4)
    base[:3, 3] = 0.1, 0.2, 0.3
    document = small_document(ARM)
    [actor] = document.actors
    actor = replace(actor, parts=(Part(0, -1, base, (0.2, 0.4, 0.8, 1.0), "visual", "base"), *actor.parts))
    view = opened(lw.viewer.side_by_side([replace(document, actors=(actor,))] * 2, spacing=1.0))
    drawn = [drawing.by_layer["visual"][0].position for drawing in view._page.drawings]
    np.testing.assert_allclose(drawn, [[0.1, -0.3, 0.3], [0.1, 0.7, 0.3]], atol=1e-12)


def test_layer_switched_on_during_a_pause_shows_the_current_time(opened):
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 2, 7))
    view = opened(small_document(ARM, q, times=(0.0, 1.0, 2.0)))
    page = view._page
    page.worker.post("time", page.times.go_to, 1.0)
    page.worker.post("layer", page.show_layer, "collision", True)
    settled(view)
    [shapes], [hidden] = (page.drawings[0].by_layer[layer] for layer in ("visual", "collision"))
    np.testing.assert_array_equal(hidden.batched_positions, shapes.batched_positions)
    X = ARM.forward_kinematics(q[1]) @ page.document.actors[0].parts[0].placement
    np.testing.assert_allclose(shapes.batched_positions, X[..., :3, 3].reshape(-1, 3), atol=1e-6)


def test_live_page_shows_and_records_forces(opened):
    view = opened(small_document(ARM))
    view.start_recording()
    q = np.linspace(ARM.neutral(), ARM.neutral() + 0.3, 31)
    for k, force in enumerate(q):
        points = np.array([[0.0, 0.0, 0.1 * i] for i in range(k % 3)]).reshape(-1, 3)
        view.show_forces(points, np.tile([0.0, 0.0, 10.0], (len(points), 1)), scale=0.01)
        view.update(force, time=0.02 * k)
        view.update(force, time=0.02 * k + 0.001)  # less than 1/60 s later
    settled(view)
    arrows = view._page.arrows["forces"]
    assert arrows.segments.shape == (0, 2, 3)  # 30 % 3
    view.show_forces([[0.0, 0.0, 0.5]], [[10.0, 0.0, 0.0]], scale=0.01)
    settled(view)
    np.testing.assert_allclose(arrows.segments, [[[0.0, 0.0, 0.5], [0.1, 0.0, 0.5]]], atol=1e-7)
    document = view.stop_recording()
    np.testing.assert_allclose(document.times, 0.02 * np.arange(31), atol=1e-12)
    np.testing.assert_array_equal(document.actors[0].q[:, 0], q)
    np.testing.assert_allclose(document.actors[0].poses[:, 0], ARM.forward_kinematics(q), atol=1e-15)
    (forces,) = document.arrows
    assert forces.visible.sum(axis=1).tolist() == [k % 3 for k in range(31)]
    np.testing.assert_array_equal(forces.vectors[forces.visible][:, 2], 10.0)


@pytest.mark.slow(every=3)
def test_live_view_of_a_simulator_shows_its_state_and_contact_forces(opened):
    """A page shows the configuration, the time and the contact forces of a simulator, at the position of each robot."""
    ball = lw.Robot.build("ball", lw.Link("body", lw.shapes.Sphere(0.1), mass=1.0), floating_base=True)
    ground = ContactGround(ContactPoint("body", radius=0.1))
    q = np.tile(ball.neutral(), (2, 1))
    q[:, -1] = 0.1
    simulator = lw.Simulator(ball, batch=2, contacts=ground, sensors={"feet": ContactSensor(ground)})
    simulator.reset(q)
    offsets = np.tile(np.eye(4), (2, 1, 1))
    offsets[:, 0, 3] = 0.0, 3.0
    view = opened(small_document(ball, q[None], offsets=offsets))
    view.start_recording()
    for _ in range(2):
        state = simulator.step(np.zeros(6), count=25)
        view.update(simulator)
    settled(view)
    np.testing.assert_array_equal(view.q, state.q)
    document = view.stop_recording()
    np.testing.assert_allclose(document.times, [0.0, 0.025])
    (forces,) = document.arrows
    assert forces.name == "contact forces"
    np.testing.assert_allclose(forces.vectors[-1], [[0.0, 0.0, 9.81]] * 2, atol=1e-6)
    np.testing.assert_allclose(forces.starts[-1], [[0.0, 0.0, 0.0], [3.0, 0.0, 0.0]], atol=1e-3)

    single_view = opened(small_document(ball, q[0]))
    alone = lw.Simulator(ball)
    alone.reset(q[1] + 0.0)
    single_view.update(alone, time=2.0)
    settled(single_view)
    np.testing.assert_array_equal(single_view.q, q[1])
    assert not single_view._page.arrows, "there is no sensor of contacts"
    with pytest.raises(ValueError, match="update: q: expected an array of shape"):
        single_view.update(simulator)


def test_plots_of_the_live_page_shade_shared_limits_and_draw_individual_limits(opened):
    """Limits that all curves share are shaded outside; curves with limits of their own have dashed lines."""
    times, values = np.array([0.0, 1.0]), np.array([[0.0, 0.0], [1.0, 2.0]])
    shared = Plot("a", "rad", ("x", "y"), values, lower=np.array([-0.5, -0.5]), upper=np.array([90.0, 90.0]))
    plot = Plot("b", "rad", ("x", "y"), values, upper=np.array([1.5, np.inf]))
    q = np.tile(ARM.neutral(), (2, 1, 1))
    page = opened(small_document(ARM, q, times=times, plots=(shared, plot)))._page
    first, second = (mark._chart for mark in page.times._marks)
    names = [[series["label"] for series in chart.series] for chart in (first, second)]
    assert names == [
        ["t [s]", "x", "y", "lower limit", "upper limit", "now"],
        ["t [s]", "x", "y", "upper limit of x", "now"],
    ]
    low, high = first.scales["y"]["range"]
    assert low < -0.5 and 2.0 < high < 90.0, "a limit far from the curves stays outside"
    assert first.series[3]["fillTo"] == low and first.series[4]["fillTo"] == high
    assert set(first.data[3]) == {-0.5} and set(second.data[3]) == {1.5}
    assert "fill" not in second.series[3] and second.series[3]["stroke"] == second.series[1]["stroke"]
    assert len(first.data) == len(first.series) and len(second.data) == len(second.series)


def test_plots_of_the_live_page_mark_the_current_time_and_scale_small_values(opened):
    """The line at the current time is vertical; small values have a power of ten next to the unit."""
    times, values = np.array([0.0, 1.0, 3.0]), np.array([[0.0], [2e-5], [0.0]])
    q = np.tile(ARM.neutral(), (3, 1, 1))
    document = small_document(ARM, q, times=times, plots=(Plot("error", "m", ("e",), values),))
    page = opened(document)._page
    (mark,) = page.times._marks
    assert mark._chart.title == "error [10⁻⁶ m]"
    for index in (2, 1, 0):
        t, curve, peak = mark._with_mark(index)
        assert t[np.argmax(peak)] == times[index] and np.count_nonzero(peak == peak.max()) == 1
        assert (np.diff(t) >= 0.0).all() and (np.diff(t) == 0.0).sum() == 3
        assert curve[np.argmax(peak)] == pytest.approx(1e6 * values[index, 0])
    mark.move(0)  # the page's own frame, at which the page leaves it
    np.testing.assert_array_equal(mark._chart.data, mark._with_mark(0))


def test_time_bar_of_the_live_page_selects_the_time(opened):
    times = np.array([0.0, 0.5, 1.0, 1.5])
    q = np.linspace(ARM.neutral(), ARM.neutral() + 0.4, 4)[:, None]
    X = np.tile(np.eye(4), (4, 1, 1))
    X[:, 2, 3] = times
    line = np.array([[0.0, 0, 0], [1.0, 0, 0], [1.0, 1, 0]])
    visible = np.array([[True], [False], [True], [True]])
    document = small_document(
        ARM,
        q,
        times=times,
        props=(Prop("box", 0, X, (0.5, 0.5, 0.5, 1.0)),),
        lines=(Lines("path", line + X[:, None, :3, 3], (0.0, 0.0, 0.0, 1.0)),),
        points=(Points("cloud", line + X[:, None, :3, 3], np.array([[255, 0, 0, 255]], dtype=np.uint8)),),
        arrows=(Arrows("pull", X[:, None, :3, 3], np.tile([1.0, 0, 0], (4, 1, 1)), visible, (1.0, 0, 0, 1.0)),),
        frames=(FrameAxes("tool", X),),
        texts=(Text("here", X[:, :3, 3]),),
        plots=(Plot("height", "m", ("z",), np.array([[0.0], [np.nan], [1.0], [1.5]])),),
        hidden=frozenset({"labels"}),
    )
    view = opened(document)
    client, page = PageClient(view), view._page
    try:
        assert page.robots == []  # the motion is fixed
        items = {layer: handles[0] for layer, handles in page.items.by_layer.items()}
        assert [layer for layer, item in items.items() if not item.visible] == ["labels"]
        for t, k in ((1.0, 2), (0.7, 1), (1.5, 3), (0.0, 0)):
            client.change(page.times.bar, t)
            assert page.times.index == k
            drawn = [pose_of(b.wxyz, b.position) for b in page.drawings[0].bodies]
            np.testing.assert_allclose(drawn, ARM.forward_kinematics(q[k, 0]), atol=1e-12)
            for layer in ("obstacle", "frames", "labels"):
                assert items[layer].position[2] == times[k]
            np.testing.assert_allclose(items["lines"].points[:, 0, 2], times[k])
            assert items["lines"].points.shape == (2, 2, 3)
            np.testing.assert_allclose(items["points"].points[:, 2], times[k])
            assert len(items["forces"].segments) == visible[k].sum()
        client.click(page.times.forward)
        assert page.times.index == 1 and page.times.bar.value == 0.5
        client.click(page.times.back)
        assert page.times.index == 0
        client.change(page.times.speed, "10")
        client.change(page.times.repeat, False)
        times_shown = []
        page.times._show, show = (lambda index: (times_shown.append(index), show(index))), page.times._show
        client.click(page.times.play)
        wait_until(lambda: page.times.index == 3 and not page.times.is_playing)
        assert times_shown == sorted(times_shown) and times_shown[-1] == 3
        assert page.times.play.label == "Play"
    finally:
        client.close()


def test_live_page_can_pause_and_step_a_simulation_loop(opened):
    view = opened(small_document(ARM))
    view.pace(0.0)
    pace = view._page.pace
    pace.speed.value = "as fast as possible"
    pace.toggle()
    done = []

    def loop():
        for k in range(4):
            view.pace(0.001)
            done.append(k)

    thread = threading.Thread(target=loop)
    thread.start()
    for count in (1, 2):
        pace.permit_step()
        wait_until(lambda count=count: len(done) == count)
    pace.toggle()
    thread.join(120.0)
    assert done == [0, 1, 2, 3]
    pace.toggle()
    waiting = threading.Thread(target=view.pace, args=(1.0,))
    waiting.start()
    view.close()  # ends loops that wait
    waiting.join(120.0)
    assert not waiting.is_alive()


def wait_until(condition):
    end = threading.Event()
    for _ in range(60_000):
        if condition():
            return
        end.wait(0.002)
    raise AssertionError("the condition did not become true")


def listening():
    """Addresses of the sockets on which this process listens."""
    return sorted(c.laddr for c in psutil.Process().net_connections("inet") if c.status == psutil.CONN_LISTEN)


def test_live_views_listen_on_this_machine_only_at_a_free_port(opened):
    before = listening()
    first, second = opened(small_document(ARM)), opened(small_document(ARM))
    new = [address for address in listening() if address not in before]
    assert {address.ip for address in new} == {"127.0.0.1"}
    ports = [int(view.url.rpartition(":")[2]) for view in (first, second)]
    assert sorted(address.port for address in new) == sorted(ports) and len({*ports}) == 2
    with pytest.raises(OSError, match=f"port: expected a free port of 127.0.0.1, got {ports[0]}, which is in use"):
        open_view(small_document(ARM), port=ports[0], open_browser=False)
    with pytest.raises(ValueError, match="port"):
        open_view(small_document(ARM), port=70_000, open_browser=False)
    second.close()
    again = opened(small_document(ARM), port=ports[1])
    assert again.url == second.url
    second.update(ARM.neutral())  # nothing happens
    second.show_forces(np.zeros((1, 3)), np.ones((1, 3)))
    second.pace(1e6)
    assert not second.is_open
    assert repr(second) == "<View of 'arm7' closed>" and again.url in again._repr_html_()


def test_live_page_requests_from_pages_of_other_hosts_are_refused(opened):
    view = opened(small_document(ARM))
    for origin in ("http://example.com", "https://127.0.0.1.example.com", "null", "http://["):
        assert not page_server.is_local_origin(origin)
    stranger = PageClient(view, origin="http://example.com")
    assert stranger.closed_with() == 1008
    client = PageClient(view, origin=view.url)
    client.send("ShareUrlRequest")
    client.settle()
    assert view._page.server.request_share_url() is None
    assert view._page.server._share_tunnel is None
    client.close()


@pytest.mark.slow(every=5)
def test_closed_live_view_leaves_no_thread_and_no_socket(monkeypatch):
    monkeypatch.setattr(page_state, "_GRACE", 0.0)

    def closed(view, client):
        view.close()

    def left(view, client):
        view.__exit__(None, None, None)

    def collected(view, client):
        del view
        gc.collect()

    def closed_in_the_browser(view, client):
        client.close()
        assert view.wait(120.0)

    for end in (closed, left, collected, closed_in_the_browser):
        threads, sockets = {*threading.enumerate()}, listening()
        views = [open_view(small_document(ARM), open_browser=False)]
        views[0].update(ARM.neutral() + 0.1)
        client = PageClient(views[0])
        client.settle()
        assert {*threading.enumerate()} > threads and listening() != sockets
        client.page = None
        end(views.pop(), client)
        client.close()
        for thread in {*threading.enumerate()} - threads:
            thread.join(120.0)
        assert {*threading.enumerate()} <= threads, end.__name__
        assert listening() == sockets


SCRIPT = """
import os, signal, sys, threading, time, linkwork as lw
sys.path.insert(0, {tests!r})
from helpers.live_pages import small_document
from linkwork.viewer.live import open_view, worker
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it

def press():
    def names(frame):
        return [] if frame is None else [frame.f_code, *names(frame.f_back)]
    while worker.Worker.wait.__code__ not in names(sys._current_frames()[threading.main_thread().ident]):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

view = open_view(small_document(lw.load("double_pendulum")), open_browser=False)
{end}
print("done", flush=True)
"""


@pytest.mark.slow(every=9)
def test_ctrl_c_and_the_end_of_a_program_close_a_live_view():
    tests = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    for end in ("threading.Thread(target=press).start(); view.wait()", "view.update([0.1, 0.2])"):
        script = SCRIPT.format(tests=tests, end=end)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300.0)
        assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_live_views_without_viser_installed_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ImportError, match=r'pip install "linkwork\[viewer\]"'):
        open_view(small_document(ARM), open_browser=False)


def test_live_page_shows_vertex_colors_textures_and_notes_about_missing_files(opened):
    box = box_surface(0.1, 0.1, 0.1)
    colors = np.full((8, 4), 200, dtype=np.uint8)
    colored = Surface(box.vertices, box.triangles, colors=colors)
    document = small_document(ARM, surfaces=(colored,), notes=("no file 'hand.stl'",))
    actor = document.actors[0]
    parts = tuple(replace(part, surface=1) if k < 2 else part for k, part in enumerate(actor.parts))
    view = opened(replace(document, actors=(replace(actor, parts=parts),)))
    kinds = [type(handle).__name__ for handle in view._page.drawings[0].by_layer["visual"]]
    assert kinds == ["GlbHandle"] + ["MeshHandle"] * 6
    view.update(ARM.upper)
    settled(view)
    assert "shoulder_pan (upper)" in view._page.status.value
