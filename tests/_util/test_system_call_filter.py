"""Filter of system calls of each processor, run by an interpreter of classic BPF."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from linkwork._util import sandbox

HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),  # AArch64 has the generic numbers
}
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_* of linux/audit.h
ALLOWED, REFUSED, UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026  # SECCOMP_RET_ALLOW, _ERRNO with EPERM and ENOSYS

REFUSED_CALLS = """
socket connect execve execveat ptrace process_vm_readv process_vm_writev kill tkill tgkill mount unshare setns bpf
perf_event_open userfaultfd fchmod fchmodat fchown fchownat utimensat setxattr lsetxattr fsetxattr removexattr
truncate setpriority sched_setscheduler sched_setaffinity shmget shmat msgget semget mq_open add_key keyctl
memfd_create pidfd_open pidfd_getfd pidfd_send_signal io_uring_setup openat2 process_madvise
"""
PERMITTED_CALLS = """
read write close lseek fstat munmap brk futex getpid exit exit_group rt_sigaction mprotect madvise getrandom
clock_gettime getdents64 unlinkat mkdirat sched_yield set_robust_list
"""


def answer(program: list[tuple[int, int, int, int]], call: int, audit: int, arguments: tuple[int, ...] = ()) -> int:
    """Return the answer of a filter to a system call, from the words of `struct seccomp_data`."""
    padded = (*arguments, *(0,) * (6 - len(arguments)))
    words = [call, audit, 0, 0]
    for argument in padded:
        words += [argument & 0xFFFFFFFF, argument >> 32]
    at = value = 0
    while True:
        code, true, false, operand = program[at]
        assert 0 <= true < 256 and 0 <= false < 256  # the fields have eight bits
        at += 1
        if code == 0x06:  # BPF_RET
            return operand
        if code == 0x20:  # BPF_LD: a word of the data
            value = words[operand // 4]
        elif code == 0x54:  # BPF_ALU, BPF_AND
            value &= operand
        else:  # BPF_JMP: BPF_JEQ, BPF_JGE
            at += true if {0x15: value == operand, 0x35: value >= operand}[code] else false


def call_ids(machine: str) -> dict[str, int]:
    """Return the numbers of a processor's system calls by name, from the kernel's header."""
    if not HEADERS[machine].exists():
        pytest.skip(f"{HEADERS[machine]} is not installed")
    text = HEADERS[machine].read_text()
    return {name: int(k) for name, k in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)\b", text)}


@pytest.mark.parametrize("machine", list(HEADERS))
def test_seccomp_filter_of_the_reader_process_blocks_system_calls_that_affect_other_processes(machine: str) -> None:
    program, calls = sandbox._filter_program(machine), call_ids(machine)
    audit = AUDIT[machine]

    def of(name: str, *arguments: int) -> int:
        return answer(program, calls[name], audit, arguments)

    refused, permitted = REFUSED_CALLS.split(), PERMITTED_CALLS.split()
    assert {name: of(name) for name in refused} == dict.fromkeys(refused, REFUSED)
    assert {name: of(name) for name in permitted} == dict.fromkeys(permitted, ALLOWED)
    assert of("clone3") == UNKNOWN  # libraries then call clone
    rules = [  # a call, its arguments that are refused, and those that are permitted
        ("clone", (17,), (0x10F00,)),  # a process (SIGCHLD), a thread (CLONE_THREAD)
        ("prlimit64", (1,), (0,)),
        ("fcntl", (3, 8), (3, 1)),  # F_SETOWN, F_GETFD
        ("fcntl", (3, 1024), (3, 1030)),  # F_SETLEASE, F_DUPFD_CLOEXEC
        ("openat", (0, 0, 0o1000), (0, 0, 0o1001)),  # O_TRUNC without and with O_WRONLY
        ("mmap", (0, 4096, 3, 0x21), (0, 4096, 3, 0x22)),  # MAP_SHARED and MAP_PRIVATE with MAP_ANONYMOUS
    ]
    for name, bad, accepted in rules:
        assert (of(name, *bad), of(name, *accepted)) == (REFUSED, ALLOWED), name
    strangers = {"x86_64": (calls["read"] | 0x40000000, audit), "aarch64": (calls["read"], 0x40000028)}  # x32, ARM
    assert answer(program, *strangers[machine]) == REFUSED
    assert answer(program, calls["read"], 0x40000003) == REFUSED  # i386 has other numbers
