"""Pictures of robots: time to the first frame, cost of a live page for a simulation, frames of a batch, sizes of pages.

`python -m benchmarks.viewer [--json FILE] [ROWS ...]` measures the rows whose names contain one of the words, by
default all.  A program that receives all messages stands for the browser, so that the times are those of the server.
The row of the first frame needs Chromium and playwright; it ends when the page has drawn a picture that is not blank.
"""

from __future__ import annotations

import argparse
import io
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.measurement.machine import machine

__all__ = ["ROWS", "main"]

_REPEATS = 5
_SECONDS = 4.0  # of each loop at 1 kHz, and of the batch
_INSTANCES = 100
_FLAGS = ("--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")

_RECEIVER = """
import asyncio, sys, time
import msgspec, viser, websockets
from viser import _messages

async def receive(address, seconds):
    protocol = f"viser-v{viser.__version__}"
    options = {"subprotocols": [protocol], "max_size": None, "compression": None}
    async with websockets.connect(address.replace("http", "ws", 1), **options) as socket:
        camera = _messages.ViewerCameraMessage(
            wxyz=(1.0, 0.0, 0.0, 0.0), position=(1.0, 0.0, 0.0), fov=1.0, near=0.1, far=10.0, image_height=10,
            image_width=10, look_at=(0.0, 0.0, 0.0), up_direction=(0.0, 0.0, 1.0))
        await socket.send(msgspec.msgpack.encode(camera.as_serializable_dict()))
        windows = size = 0
        begin = None
        while True:
            try:
                data = await asyncio.wait_for(socket.recv(), 1.5 if begin else 30.0)
            except asyncio.TimeoutError:
                break
            begin, end = begin or time.perf_counter(), time.perf_counter()
            windows, size = windows + 1, size + len(data)
            if end - begin > seconds:
                break
        print(windows, size, end - begin)

asyncio.run(receive(sys.argv[1], float(sys.argv[2])))
"""

_FIRST_FRAME = """
import json, sys, time
begin = time.perf_counter()
import linkwork as lw
view = lw.load("arm7").show(open_browser=False)
print(json.dumps([view.url, time.perf_counter() - begin, time.process_time()]), flush=True)
sys.stdin.readline()
view.close()
"""


def first_frame() -> dict[str, Any]:
    """Measure the time from the start of Python's imports to a picture of arm7 in the browser [s]."""
    from playwright.sync_api import sync_playwright

    served, shown, used = [], [], []
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=[*_FLAGS])
        for _ in range(_REPEATS):
            page = chromium.new_page(viewport={"width": 800, "height": 600})
            page.set_default_timeout(600_000.0)  # [ms]
            begin = time.perf_counter()
            program = subprocess.Popen(
                [sys.executable, "-c", _FIRST_FRAME], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            assert program.stdin is not None and program.stdout is not None
            url, seconds, processor = json.loads(program.stdout.readline())
            page.goto(url)
            page.wait_for_selector("canvas")
            box = {"x": 60, "y": 160, "width": 400, "height": 400}
            while (
                np.ptp(_picture(page, box).reshape(-1, 3).astype(int), axis=0).max() < 100
            ):  # grey lines are not a robot
                pass
            shown.append(time.perf_counter() - begin)
            served.append(seconds)
            used.append(processor)
            program.stdin.write("\n")
            program.stdin.flush()
            program.wait()
            page.close()
        chromium.close()
    return {
        "page served [s]": statistics.median(served),
        "processor time until then [s]": statistics.median(used),
        "first picture [s]": statistics.median(shown),
    }


def loop_at_1_khz() -> dict[str, Any]:
    """Measure a simulation of the quadruped at 1 kHz without a viewer, and with a page that receives all."""
    robot = lw.load("quadruped")
    results: dict[str, list[tuple[float, float]]] = {"without": [], "with": []}
    frames = []
    for _ in range(_REPEATS):
        results["without"].append(_simulated(robot, lambda q: None))
        with robot.show(open_browser=False) as view:
            receiver = _receiver(view.url)
            before = view._page.worker.published
            results["with"].append(_simulated(robot, view.update))
            frames.append((view._page.worker.published - before) / _SECONDS)
            receiver.communicate()
    result: dict[str, Any] = {"frames shown [1/s]": statistics.median(frames)}
    for name, values in results.items():
        result[f"{name}: processor time of a step in its thread [µs]"] = 1e6 * statistics.median(
            step for step, _ in values
        )
        result[f"{name}: processor time of the process [s/s]"] = statistics.median(used for _, used in values)
    return result


def batch() -> dict[str, Any]:
    """Measure the frames of 100 quadrupeds that reach a page, with their bytes and the server's processor time."""
    robot = lw.load("quadruped")
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, size=_INSTANCES)
    with robot.show(q, spacing=1.0, open_browser=False) as view:
        receiver = _receiver(view.url)
        before, used, begin = view._page.worker.published, time.process_time(), time.perf_counter()
        while (now := time.perf_counter()) - begin < _SECONDS:
            view.update(q + 0.2 * np.sin(5.0 * now))
            time.sleep(0.002)
        seconds = time.perf_counter() - begin
        frames, used = (view._page.worker.published - before) / seconds, (time.process_time() - used) / seconds
        windows, size, span = map(float, receiver.communicate()[0].split())
    return {
        "frames drawn [1/s]": frames,
        "frames received [1/s]": windows / span,
        "received [MB/s]": size / span / 1e6,
        "processor time of the process [s/s]": used,
    }


def page_sizes() -> dict[str, Any]:
    """Measure the size of a page of 1000 frames of the humanoid, and the time to make it."""
    from linkwork.viewer.html.page import page_text

    robot = lw.load("humanoid")
    times = np.linspace(0.0, 10.0, 1000)
    q = robot.neutral() + 0.3 * np.sin(times[:, None] + np.arange(robot.nq))
    document = lw.viewer.scene_document(robot, q=q, times=times)
    begin = time.perf_counter()
    text = page_text(document)
    return {"size of 1000 frames [MB]": len(text.encode()) / 1e6, "time to make it [s]": time.perf_counter() - begin}


_PAGE_FRAMES = """() => {
    const canvas = document.getElementById("view"), gl = canvas.getContext("webgl2"), pixel = new Uint8Array(4);
    const timed = (action) => {
        const times = [];
        for (let k = 0; k < 41; k++) {
            const begin = performance.now();
            action(k % linkwork.frames);
            times.push(performance.now() - begin);
        }
        return times.sort((a, b) => a - b)[20];
    };
    const update = timed((k) => linkwork.showFrame(k));
    const draw = timed(() => { linkwork.draw(); gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); });
    return [update, draw];
}"""


def page_frames() -> dict[str, Any]:
    """Measure a frame of 100 quadrupeds in the self-contained page [ms]: all poses, and the picture.

    Chromium draws without a graphics card.
    """
    from playwright.sync_api import sync_playwright

    from linkwork.viewer.html.page import page_text

    robot = lw.load("quadruped")
    times = np.linspace(0.0, 4.0, 120)
    phases = np.arange(_INSTANCES * robot.nq).reshape(_INSTANCES, robot.nq)
    q = robot.neutral() + 0.2 * np.sin(times[:, None, None] + phases)
    text = page_text(lw.viewer.scene_document(robot, q=q, times=times, spacing=1.2))
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=[*_FLAGS])
        page = chromium.new_page(viewport={"width": 800, "height": 600})
        page.set_content(text)
        page.evaluate("linkwork.ready")
        update, draw = page.evaluate(_PAGE_FRAMES)
        chromium.close()
    return {"poses of 100 quadrupeds [ms]": update, "picture of 800 x 600 [ms]": draw}


ROWS: dict[str, Callable[[], dict[str, Any]]] = {
    "first frame": first_frame,
    "1 kHz": loop_at_1_khz,
    "100 quadrupeds": batch,
    "page": page_sizes,
    "frames of a page": page_frames,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the rows, print them and write them to a file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewer", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="words of the names of rows")
    parser.add_argument("--json", metavar="FILE", help="write the results to a file")
    parsed = parser.parse_args(arguments)
    results: dict[str, Any] = {}
    for name, measure in ROWS.items():
        if parsed.rows and not any(word in name for word in parsed.rows):
            continue
        results[name] = measure()
        print(name)
        for quantity, value in results[name].items():
            print(f"  {quantity}: {value:.4g}")
    if parsed.json:
        with open(parsed.json, "w", encoding="utf-8") as file:
            json.dump({"machine": machine(), "results": results}, file, indent=1)
    return 0


def _simulated(robot: Any, show: Callable[[np.ndarray], Any]) -> tuple[float, float]:
    """Return the processor time of a step [s] of a loop at 1 kHz, in its thread, and that of the process [s/s]."""
    q, v, tau = np.array(robot.neutral()), np.zeros(robot.nv), np.zeros(robot.nv)
    dt = 1e-3
    used, thread_begin, begin = time.process_time(), time.thread_time(), time.perf_counter()
    due = begin
    steps = round(_SECONDS / dt)
    for _ in range(steps):
        v = v + dt * robot.forward_dynamics(q, v, tau)
        q = robot.integrate(q, dt * v)
        show(q)
        now = time.perf_counter()
        due += dt
        if due > now:
            time.sleep(due - now)
    return (time.thread_time() - thread_begin) / steps, (time.process_time() - used) / (time.perf_counter() - begin)


def _receiver(url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _RECEIVER, url, str(_SECONDS)]
    receiver = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    time.sleep(2.0)  # until it is connected
    return receiver


def _picture(page: Any, box: dict[str, int]) -> np.ndarray:
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(page.screenshot(clip=box))).convert("RGB"))


if __name__ == "__main__":
    sys.exit(main())
