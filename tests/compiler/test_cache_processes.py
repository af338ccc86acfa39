"""The disk cache of machine code where writers are killed, and where many work on it at once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from linkwork.compiler.cache import Cache, Entry

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

# Both programs fork, which is much faster than starting Python anew, and make errors of all warnings.
COMMON = """
import os, random, signal, sys, time, warnings
from pathlib import Path
from linkwork.compiler.cache import Cache, Entry

warnings.simplefilter("error")
folder = Path(sys.argv[1])

def entry(name, k, size):
    return Entry({"name": name, "k": k}, bytes([k]) * size)

def is_whole(name, found):
    return found.facts["name"] == name and found == entry(name, found.facts["k"], len(found.code))

def forked(work):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return child
"""

KILLED = (
    COMMON
    + """
def write():
    k = 0
    while True:
        k = (k + 1) % 256
        cache.store("ab"[k % 2], entry("ab"[k % 2], k, 2_000_000 + k))

cache, chance = Cache(folder, 1 << 30), random.Random(0)
left, loaded = 0, 0
for _ in range(40):
    child = forked(write)
    time.sleep(chance.uniform(0.001, 0.02))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    for name in "ab":
        found = cache.load(name)
        assert found is None or is_whole(name, found)
        loaded += found is not None
    left = len(list(folder.glob("*.linkwork-part")))
print(left, loaded)
"""
)

TOGETHER = (
    COMMON
    + """
def work(seed):
    chance, cache = random.Random(seed), Cache(folder, 300_000)
    end = time.monotonic() + 1.5
    loaded = 0
    while time.monotonic() < end:
        name = chance.choice("abcdef")
        doing = chance.random()
        if doing < 0.45:
            cache.store(name, entry(name, chance.randrange(256), chance.randrange(100_000)))
        elif doing < 0.9:
            found = cache.load(name)
            assert found is None or is_whole(name, found)
            loaded += found is not None
        elif doing < 0.98:
            cache.trim()
        else:
            cache.clear()
    assert loaded

children = [forked(lambda: work(seed)) for seed in range(8)]
print([os.waitpid(child, 0)[1] for child in children])
"""
)


def printed(program: str, folder: Path) -> str:
    ran = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@posix
def test_writers_that_are_killed_leave_whole_entries_or_none(tmp_path):
    cache = Cache(tmp_path / "cache", 1 << 30)
    left, loaded = map(int, printed(KILLED, cache.folder).split())
    assert left > 0, "no writer was killed while it wrote"
    assert loaded > 0
    cache.store("c", Entry({}, b""))  # which looks for what dead writers left, once that is old enough
    assert len(os.listdir(cache.folder)) >= left
    for path in cache.folder.glob("*.linkwork-part"):
        os.utime(path, (time.time() - 3600.0,) * 2)
    Cache(cache.folder, 1 << 30).store("c", Entry({}, b""))
    assert list(cache.folder.glob("*.linkwork-part")) == []
    assert cache.clear()[0] == len("abc")
    assert os.listdir(cache.folder) == []


@posix
def test_many_processes_at_once(tmp_path):
    folder = tmp_path / "cache"
    assert printed(TOGETHER, folder) == f"{[0] * 8}\n"
    cache = Cache(folder, 300_000)
    cache.trim()
    assert sum(state.st_size for _, state in cache.entries()) <= 300_000
    assert all(cache.facts(path) for path, _ in cache.entries())
    assert all(path.suffix == ".linkwork" for path in folder.iterdir())


def test_many_threads_at_once(tmp_path):
    cache, wrong = Cache(tmp_path / "cache", 100_000), []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        try:
            for _ in range(100):
                name, k = chance.choice("abcd"), chance.randrange(256)
                cache.store(name, Entry({"k": k}, bytes([k]) * chance.randrange(40_000)))
                found = cache.load(chance.choice("abcd"))
                assert found is None or set(found.code) <= {found.facts["k"]}
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
