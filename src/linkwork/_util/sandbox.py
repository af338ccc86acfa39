"""Restrictions of a process that reads files of strangers: memory, time, files and network.

`restrict` is called in a child process with one thread, after its imports.  Limits of memory and time are set by
POSIX's `setrlimit`.  On Linux, Landlock (5.13 or newer) permits the opening of files in the stated folders only.  A
filter of system calls (seccomp) refuses sockets, new programs, actions on other processes, shared memory, and changes
of permissions and times of files.  Both apply to all code of the process.  If either is missing, an audit hook applies
the same rules to Python code alone.

Sources: the manual pages landlock(7), seccomp(2) and setrlimit(2); linux/landlock.h, linux/filter.h.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["is_restricted", "restrict"]

_NO_NEW_PRIVILEGES = 38  # of prctl
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls of Landlock, on all processors
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
_RIGHTS = ((1, 13), (2, 14), (3, 15), (5, 16))  # version of Landlock, and number of its rights on files
_NETWORK_VERSION, _SCOPE_VERSION = 4, 6
_DEVICES = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 15  # creation of devices, sockets and pipes, and ioctl
_RIGHTS_OF_FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15

_PROCESSORS = {  # audit number, flag of another ABI, seccomp, clone3, calls with `_RULES`, refused system calls
    "x86_64": (
        *(0xC000003E, 0x40000000, 317, 435, (56, 302, 72, 257, 9, 2)),
        (
            *(41, 42, 57, 58, 59, 322),  # socket connect fork vfork execve execveat
            *(101, 310, 311, 62, 200, 234, 129, 297),  # ptrace process_vm_* kill tkill tgkill rt_*sigqueueinfo
            *(165, 272, 308, 321, 304, 323, 298),  # mount unshare setns bpf open_by_handle_at userfaultfd perf_*
            *(90, 91, 268, 92, 93, 94, 260, 132, 235, 261, 280),  # chmod chown utime, each with its forms
            *(188, 189, 190, 197, 198, 199, 76),  # setxattr removexattr truncate
            *(141, 142, 144, 203, 314, 251, 256, 279),  # setpriority sched_set* ioprio_set migrate_pages move_pages
            *(29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241),  # shm* sem* msg* mq_open mq_unlink
            *(248, 249, 250, 319),  # add_key request_key keyctl memfd_create
        ),
    ),
    "aarch64": (
        *(0xC00000B7, 0, 277, 435, (220, 261, 25, 56, 222)),
        (
            *(198, 203, 221, 281),
            *(117, 270, 271, 129, 130, 131, 138, 240),
            *(40, 97, 268, 280, 265, 282, 241),
            *(52, 53, 54, 55, 88),
            *(5, 6, 7, 14, 15, 16, 45),
            *(140, 118, 119, 122, 274, 30, 238, 239),
            *(194, 196, 195, 190, 193, 191, 192, 186, 189, 188, 187, 180, 181),
            *(217, 218, 219, 279),
        ),
    ),
}
_REFUSED = (  # on all: pidfd_* io_uring_setup openat2 process_m* memfd_secret fchmodat2 setxattrat removexattrat
    *(424, 425, 434, 437, 438, 440, 447, 448, 452, 463, 466),
)
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026  # answers of the filter
_RULES = (  # argument of a call, its bits, their values, and the answers for these values and for others
    (0, 0x10000, (0x10000,), _ALLOW, _EPERM),  # clone: threads only
    (0, 0xFFFFFFFF, (0,), _ALLOW, _EPERM),  # prlimit64: of this process only
    (1, 0xFFFFFFFF, (8, 10, 15, 1024), _EPERM, _ALLOW),  # fcntl: F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE
    (2, 0o1003, (0o1000, 0o1003), _EPERM, _ALLOW),  # openat: no O_TRUNC without writing, which Landlock sees
    (3, 0x21, (0x21,), _EPERM, _ALLOW),  # mmap: no shared anonymous memory, which RLIMIT_DATA does not count
    (1, 0o1003, (0o1000, 0o1003), _EPERM, _ALLOW),  # open, as openat
)
_RESERVED = 1 << 32  # [bytes] of address space that libraries may reserve without using it


def restrict(readable: Sequence[str], writable: Sequence[str], memory: int, seconds: int) -> None:
    """Restrict this process for the rest of its life.

    Files can be opened for reading only in the folders ``readable`` and ``writable``, and for writing only in
    ``writable``.  ``memory`` [bytes] and ``seconds`` [s] limit the memory and the processor time that the process may
    use from now on.
    """
    global _restricted
    _restricted = True
    _limit(memory, seconds)
    confined = sys.platform == "linux" and _confine_files(readable, writable)
    if not (sys.platform == "linux" and _filter_calls() and confined):
        _watch_python(readable, writable)


_restricted = False


def is_restricted() -> bool:
    """Return True in a process that reads an untrusted file."""
    return _restricted


def _limit(memory: int, seconds: int) -> None:
    """Limit the memory, the processor time and the size of written files, if the system supports it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = int(used.ru_utime + used.ru_stime) + 1 + seconds
    limits = {resource.RLIMIT_CPU: cpu, resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: memory}
    try:  # Linux counts writable memory apart from address space that a library reserves
        with open("/proc/self/statm", encoding="ascii") as file:
            sizes = [int(pages) * resource.getpagesize() for pages in file.read().split()]
        limits |= {resource.RLIMIT_DATA: sizes[5] + memory, resource.RLIMIT_AS: sizes[0] + memory + _RESERVED}
    except OSError:
        limits[resource.RLIMIT_AS] = memory + _RESERVED
    for kind, most in limits.items():
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):  # a smaller limit is set, or the system has none
            continue


def _confine_files(readable: Sequence[str], writable: Sequence[str]) -> bool:
    """Restrict file access to the folders by Landlock.  Return False if the system does not support it."""
    system = ctypes.CDLL(None, use_errno=True)
    version = system.syscall(_CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    rights = (1 << max(count for since, count in _RIGHTS if version >= since)) - 1
    attributes = [rights]
    attributes += [3] if version >= _NETWORK_VERSION else []  # no TCP
    attributes += [3] if version >= _SCOPE_VERSION else []  # no abstract sockets and signals of other processes
    data = struct.pack(f"{len(attributes)}Q", *attributes)
    ruleset = system.syscall(_CREATE_RULESET, ctypes.c_char_p(data), ctypes.c_size_t(len(data)), 0)
    if ruleset < 0:
        return False
    reading, writing = _READ_FILE | _READ_FOLDER, rights & ~_DEVICES
    for path, allowed in (*((path, reading) for path in readable), *((path, writing) for path in writable)):
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # it does not exist
            continue
        mask = rights & allowed if os.path.isdir(path) else rights & allowed & _RIGHTS_OF_FILES
        rule = struct.pack("=Qi", mask, opened)
        system.syscall(_ADD_RULE, ruleset, 1, ctypes.c_char_p(rule), 0)
        os.close(opened)
    done = not system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) and not system.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return done


def _filter_calls() -> bool:
    """Refuse sockets, programs, access to other processes, and changes of files' metadata, by a filter of calls.

    It also refuses memory that the limits do not count, and memory that outlives this process.
    """
    if platform.machine() not in _PROCESSORS or sys.byteorder != "little":
        return False
    program = _filter_program(platform.machine())
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in program))
    header = ctypes.create_string_buffer(struct.pack("@HxxxxxxP", len(program), ctypes.addressof(code)))
    system = ctypes.CDLL(None, use_errno=True)
    if system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return False
    seccomp = _PROCESSORS[platform.machine()][2]
    return bool(system.syscall(seccomp, 1, 1, header) == 0)  # for all threads


def _filter_program(machine: str) -> list[tuple[int, int, int, int]]:
    """Return the filter of a processor's system calls, in classic BPF: operation, jumps if true and false, operand."""
    audit, foreign_calls, _, clone3, ruled, refused = _PROCESSORS[machine]
    load, equal, at_least, mask, answer = 0x20, 0x15, 0x35, 0x54, 0x06
    program = [(load, 0, 0, 4), (equal, 1, 0, audit), (answer, 0, 0, _EPERM), (load, 0, 0, 0)]
    if foreign_calls:
        program += [(at_least, 0, 1, foreign_calls), (answer, 0, 0, _EPERM)]
    for call in (*refused, *_REFUSED):
        program += [(equal, 0, 1, call), (answer, 0, 0, _EPERM)]
    program += [(equal, 0, 1, clone3), (answer, 0, 0, _ENOSYS)]  # then libraries call clone, whose flags are seen
    for call, (argument, bits, values, then, otherwise) in zip(ruled, _RULES, strict=False):
        rule = [(load, 0, 0, 16 + 8 * argument), (mask, 0, 0, bits)]
        rule += [line for value in values for line in ((equal, 0, 1, value), (answer, 0, 0, then))]
        program += [(equal, 0, len(rule) + 1, call), *rule, (answer, 0, 0, otherwise)]
    program += [(answer, 0, 0, _ALLOW)]
    return program


def _watch_python(readable: Sequence[str], writable: Sequence[str]) -> None:
    """Refuse files outside of the folders, sockets and new programs for Python code, by an audit hook."""
    roots = tuple(os.path.realpath(path) for path in (*readable, *writable))
    refused = ("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.system", "os.fork", "os.startfile")

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], (str, bytes)):
            path = os.path.realpath(os.fsdecode(arguments[0]))
            if not any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots):
                raise PermissionError(f"{path!r} is outside of the permitted folders")
        elif event.startswith(refused):
            raise PermissionError(f"{event} is not permitted")

    sys.addaudithook(watch)
