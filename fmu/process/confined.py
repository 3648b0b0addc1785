"""Runs inside a sandbox, just before the command: gives up what is left of power, sets limits, and becomes the command.

``python -I -S confined.py SETTINGS COMMAND...``, where the settings are JSON: ``user``, to which root changes, or null, and
``limits`` by their names in :mod:`resource`. It imports nothing but the standard library, for it starts every command.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import Any, NoReturn

PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 22, 24, 38
SECCOMP_MODE_FILTER = 2
CAPABILITY_VERSION = 0x20080522
#: The most capabilities that a kernel may know.
CAPABILITIES = 64
#: Machines as the kernel names them for filters, and in which column of the table below their calls are.
MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
#: Calls of the kernel that no FMU needs: those that reach into other processes, make namespaces and mounts, hold memory that
#: belongs to no process, or have been the way out of sandboxes. Their numbers on x86-64 and on ARM.
FORBIDDEN = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "kcmp": (312, 272), "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "bpf": (321, 280),
    "perf_event_open": (298, 241), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "userfaultfd": (323, 282),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "shmget": (29, 194),
    "msgget": (68, 186), "semget": (64, 190), "memfd_create": (319, 279), "memfd_secret": (447, 447), "quotactl": (179, 60),
    "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "acct": (163, 89), "syslog": (103, 116),
    "fanotify_init": (300, 262), "clone3": (435, 435),
}  # fmt: skip
CLONE, SOCKET = (56, 220), (41, 198)
#: Flags by which a new process would get namespaces of its own.
NEW_NAMESPACES = 0x7E020000
#: Kinds of sockets that are left, all of them inside the sandbox: local ones, and those of a network that leads nowhere.
FAMILIES = (1, 2, 10)
#: Calls on x86-64 by another numbering.
X32 = 0x40000000
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
NUMBER, MACHINE, FIRST_ARGUMENT = 0, 4, 16
ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000


def filter_program(machine: str) -> bytes | None:
    """Return the filter of calls for the kernel, as its instructions, or None for a machine whose calls are not known here."""
    if machine not in MACHINES:
        return None
    audit, column = MACHINES[machine]
    rows: list[tuple[int, int, int, int]] = [(LOAD, 0, 0, MACHINE), (EQUAL, 1, 0, audit), (RETURN, 0, 0, KILL)]
    rows.append((LOAD, 0, 0, NUMBER))
    if machine == "x86_64":
        rows += [(AT_LEAST, 0, 1, X32), (RETURN, 0, 0, REFUSE | errno.ENOSYS)]
    for name, numbers in FORBIDDEN.items():
        # Libraries do without these where the kernel does not know them; a refusal would end them.
        unknown = name in ("clone3", "memfd_create", "memfd_secret")
        answer = REFUSE | (errno.ENOSYS if unknown else errno.EPERM)
        rows += [(EQUAL, 0, 1, numbers[column]), (RETURN, 0, 0, answer)]
    rows += [(EQUAL, 0, 4, CLONE[column]), (LOAD, 0, 0, FIRST_ARGUMENT), (ANY_BIT, 0, 1, NEW_NAMESPACES)]
    rows += [(RETURN, 0, 0, REFUSE | errno.EPERM), (RETURN, 0, 0, ALLOW)]
    rows += [(EQUAL, 1, 0, SOCKET[column]), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, FIRST_ARGUMENT)]
    rows += [(EQUAL, len(FAMILIES) - i, 0, family) for i, family in enumerate(FAMILIES)]
    rows += [(RETURN, 0, 0, REFUSE | errno.EAFNOSUPPORT), (RETURN, 0, 0, ALLOW)]
    return b"".join(struct.pack("<HBBI", *row) for row in rows)


def give_up_power(user: int | None) -> None:
    """Change from root to a user whom nobody else is, and keep no capability, not even one that could be had again."""
    library = ctypes.CDLL(None, use_errno=True)
    if user is not None:
        Path("/tmp").chmod(0o1777)
        for capability in range(CAPABILITIES):
            library.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    library.capset(ctypes.create_string_buffer(struct.pack("<Ii", CAPABILITY_VERSION, 0)), ctypes.create_string_buffer(24))
    library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def set_limits(limits: dict[str, int]) -> None:
    """Set the limits of this process and of all that it starts, no higher than they are already."""
    for name, value in {**limits, "RLIMIT_CORE": 0}.items():
        kind = getattr(resource, name)
        _, most = resource.getrlimit(kind)
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        # A process that has used up its time is told so; one that takes no notice is ended some seconds later.
        soft, hard = (value, min(value + 5, most) if most >= 0 else value + 5) if name == "RLIMIT_CPU" else (value, value)
        resource.setrlimit(kind, (soft, hard))
    # Where the machine runs out of memory all the same, these processes are to go first.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def filter_calls() -> None:
    """Install the filter, where the kernel has such a thing: it is a second wall behind the first."""
    program = filter_program(os.uname().machine)
    if program is None:
        return
    instructions = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    head = Program(len(program) // 8, ctypes.addressof(instructions))
    ctypes.CDLL(None).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(head), 0, 0)


def main(words: list[str]) -> NoReturn:
    """Become the command."""
    settings: dict[str, Any] = json.loads(words[0])
    user = int(os.environ.pop("KINGPOST_SANDBOX_USER")) if settings["changes_user"] else None
    give_up_power(user)
    set_limits(settings["limits"])
    filter_calls()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, which the command would inherit
    os.execv(words[1], words[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
