"""Disk cache of machine code with killed writers, many processes and many threads."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from linkwork.compiler.cache.disk_cache import Cache, Entry

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

# Both programs fork, which is much faster than starting Python anew, and make errors of all warnings.
COMMON = """
import os, random, signal, sys, warnings
from pathlib import Path
from linkwork.compiler.cache.disk_cache import Cache, Entry

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

# A writer is killed at its first step, the next at its second ..., until one comes to its end: steps are the calls of
# functions written in C, and the returns from them, whatever the cache does.
KILLED = (
    COMMON
    + """
def write(last):
    steps = 0

    def step(frame, event, function):
        nonlocal steps
        steps += event in ("c_call", "c_return")
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)

    cache, new = Cache(folder, 1 << 30), entry("a", last % 256, 200_000 + last)
    sys.setprofile(step)
    cache.store("a", new)
    sys.setprofile(None)

cache = Cache(folder, 1 << 30)
cache.store("a", entry("a", 0, 200_000))
last, ended, loaded = 0, None, set()
while ended != 0:
    last += 1
    ended = os.waitpid(forked(lambda: write(last)), 0)[1]
    assert ended in (0, signal.SIGKILL), ended
    found = cache.load("a")
    assert is_whole("a", found), last
    loaded.add(len(found.code))
print(len(list(folder.glob("*.linkwork-part"))), last, len(loaded))
"""
)

TOGETHER = (
    COMMON
    + """
def work(seed):
    chance, cache = random.Random(seed), Cache(folder, 300_000)
    loaded = 0
    for _ in range(400):
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
    ran = subprocess.run([sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.slow
@posix
def test_killed_writers_leave_complete_cache_entries_or_none(tmp_path):
    cache = Cache(tmp_path / "cache", 1 << 30)
    left, killed, loaded = map(int, printed(KILLED, cache.folder).split())
    assert left > 0, "no writer was killed while it wrote"
    assert killed > 20 and loaded > 2  # some came far enough for their entry to be the one
    cache.store("c", Entry({}, b""))  # which looks for what dead writers left, once that is old enough
    assert len(os.listdir(cache.folder)) >= left
    for path in cache.folder.glob("*.linkwork-part"):
        os.utime(path, (time.time() - 3600.0,) * 2)
    Cache(cache.folder, 1 << 30).store("c", Entry({}, b""))
    assert list(cache.folder.glob("*.linkwork-part")) == []
    assert cache.clear()[0] == len("ac")
    assert os.listdir(cache.folder) == []


@pytest.mark.slow
@posix
def test_many_processes_can_share_the_disk_cache(tmp_path):
    folder = tmp_path / "cache"
    assert printed(TOGETHER, folder) == f"{[0] * 8}\n"
    cache = Cache(folder, 300_000)
    cache.trim()
    assert sum(state.st_size for _, state in cache.entries()) <= 300_000
    assert all(cache.facts(path) for path, _ in cache.entries())
    assert all(path.suffix == ".linkwork" for path in folder.iterdir())


@pytest.mark.slow(every=5)
def test_many_threads_can_share_the_disk_cache(tmp_path):
    cache, wrong = Cache(tmp_path / "cache", 100_000), []

    def work(seed: int) -> None:
        chance = random.Random(seed)
        try:
            for _ in range(100):
                name, k = chance.choice("abcd"), chance.randrange(256)
                cache.store(name, Entry({"k": k}, bytes([k]) * chance.randrange(40_000)))
                entry = cache.load(chance.choice("abcd"))
                assert entry is None or set(entry.code) <= {entry.facts["k"]}
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
