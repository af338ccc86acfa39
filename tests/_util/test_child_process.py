"""Programs in processes of their own: message, output, errors, exit code, and the end of those that take too long."""

from __future__ import annotations

import signal
import sys
import threading
import time

import pytest

from linkwork._util.child_process import run_program

PROGRAM = "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[::-1]); sys.exit(len(data) % 7)"


@pytest.mark.parametrize("message", [b"", b"abc", b"x" * 300_000])
def test_program_reads_its_message_and_writes_its_output(message):
    ended = run_program([sys.executable, "-I", "-c", PROGRAM], message, 60.0)
    assert ended == (len(message) % 7, message[::-1], b"")


def test_errors_of_a_program_are_returned():
    ended = run_program([sys.executable, "-I", "-c", "raise SystemExit('no file')"], b"not read" * 50_000, 60.0)
    assert ended is not None and ended.code == 1 and ended.output == b"" and ended.errors.strip() == b"no file"


@pytest.mark.parametrize("message", [b"", b"x" * 1_000_000])  # the second one fills the pipe: nothing reads it
def test_program_that_does_not_end_in_time_is_killed(message, tmp_path):
    end = tmp_path / "end"
    code = f"import time; time.sleep(1000.0); open({str(end)!r}, 'w')"
    assert run_program([sys.executable, "-I", "-c", code], message, 0.2) is None
    assert not end.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of one thread")
def test_program_is_killed_when_an_interrupt_ends_the_wait_for_it(tmp_path):
    def interrupt(*_):
        raise RuntimeError("the wait ends")

    def interrupt_main_thread_once_the_program_runs():
        while not begin.exists():
            time.sleep(0.01)
        signal.pthread_kill(main, signal.SIGUSR1)

    begin, end, main = tmp_path / "begin", tmp_path / "end", threading.main_thread().ident
    assert main is not None
    code = f"import time; open({str(begin)!r}, 'w'); time.sleep(1000.0); open({str(end)!r}, 'w')"
    before = signal.signal(signal.SIGUSR1, interrupt)
    threading.Thread(target=interrupt_main_thread_once_the_program_runs, daemon=True).start()
    try:
        with pytest.raises(RuntimeError, match="the wait ends"):
            run_program([sys.executable, "-I", "-c", code], b"", 900.0)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not end.exists()
