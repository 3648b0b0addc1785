"""Which calls of the kernel are left inside a sandbox."""

import errno
import struct

import pytest

from kingpost.fmu.process.confined import (
    ALLOW,
    CLONE,
    FORBIDDEN,
    KILL,
    MACHINES,
    NEW_NAMESPACES,
    REFUSE,
    SOCKET,
    filter_program,
)

CLONE_OF_A_THREAD = 0x3D0F00


def decision(machine, number, argument=0, audit=None):
    """Run the filter as the kernel does and return its answer."""
    rows = [
        struct.unpack("<HBBI", program[i : i + 8]) for program in [filter_program(machine)] for i in range(0, len(program), 8)
    ]
    data = struct.pack("<iIQ6Q", number, MACHINES[machine][0] if audit is None else audit, 0, argument, 0, 0, 0, 0, 0)
    value, place = 0, 0
    while True:
        code, yes, no, k = rows[place]
        if code == 0x06:
            return k
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, k)
        else:
            true = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
            place += yes if true else no
        place += 1


@pytest.mark.parametrize("machine", MACHINES)
def test_what_fmus_need_is_allowed_and_the_rest_is_not(machine):
    column = MACHINES[machine][1]
    for name, numbers in FORBIDDEN.items():
        answer = decision(machine, numbers[column])
        assert answer & 0xFFFF0000 == REFUSE, name
        assert answer & 0xFFFF == (errno.ENOSYS if name in ("clone3", "memfd_create", "memfd_secret") else errno.EPERM)
    allowed = set(range(0, 460)) - {numbers[column] for numbers in FORBIDDEN.values()} - {SOCKET[column]}
    assert {decision(machine, number) for number in allowed} == {ALLOW}
    assert decision(machine, CLONE[column], CLONE_OF_A_THREAD) == ALLOW
    for bit in range(32):
        if NEW_NAMESPACES >> bit & 1:
            assert decision(machine, CLONE[column], 1 << bit) == REFUSE | errno.EPERM
    for family, left in {1: True, 2: True, 10: True, 16: False, 17: False, 38: False, 40: False}.items():
        assert decision(machine, SOCKET[column], family) == (ALLOW if left else REFUSE | errno.EAFNOSUPPORT)


def test_other_ways_into_the_kernel_are_closed():
    assert decision("x86_64", 20, audit=0x40000003) == KILL  # as programs of 32 bits call
    assert decision("x86_64", 0x40000000 + 101) == REFUSE | errno.ENOSYS
    assert filter_program("riscv64") is None
