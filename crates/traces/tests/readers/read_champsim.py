"""Reads a ChampSim trace with the standard library alone, checks the rules of the format, and prints its records.

Written from ChampSim's public description of the format: records of 64 bytes, little-endian; the kind of a branch follows from the registers that it
reads and writes (6: stack pointer, 25: flags, 26: instruction pointer).
"""

import lzma
import struct
import sys

RECORD = struct.Struct("<QBB2B4B2Q4Q")
STACK, FLAGS, POINTER = 6, 25, 26


def kind(reads, writes):
    """ChampSim's own rules, in its order."""
    stack, flags, pointer = STACK in reads, FLAGS in reads, POINTER in reads
    other = any(register not in (0, STACK, FLAGS, POINTER) for register in reads)
    if POINTER not in writes:
        return "no-branch"
    if not stack and not flags and not other:
        return "jump"
    if not stack and not pointer and not flags and other:
        return "indirect-jump"
    if not stack and pointer and STACK not in writes and (flags or other):
        return "conditional"
    if stack and pointer and STACK in writes and not flags and not other:
        return "call"
    if stack and pointer and STACK in writes and other:
        return "indirect-call"
    if stack and not pointer and STACK in writes:
        return "return"
    return "unknown"


def main(path):
    opened = lzma.open(path, "rb") if path.endswith(".xz") else open(path, "rb")
    with opened as file:
        content = file.read()
    assert RECORD.size == 64
    assert len(content) % 64 == 0, "the last record is cut off"
    for number, fields in enumerate(RECORD.iter_unpack(content)):
        pc, branch, taken = fields[:3]
        writes, reads, stores, loads = fields[3:5], fields[5:9], fields[9:11], fields[11:15]
        assert branch in (0, 1) and taken in (0, 1), f"record {number}: a flag is no flag"
        assert branch or not taken, f"record {number}: taken, and no branch"
        name = kind(reads, writes)
        assert (name == "no-branch") == (not branch), f"record {number}: {name}, is_branch {branch}"
        assert name != "unknown", f"record {number}: ChampSim would not know this branch"
        for group in (writes, reads, stores, loads):
            used = [value for value in group if value]
            assert list(group[: len(used)]) == used, f"record {number}: a gap between operands"
        words = [f"{pc:x}", name if branch else "-", str(taken)]
        words += [f"L{address:x}" for address in loads if address] + [f"S{address:x}" for address in stores if address]
        print(" ".join(words))


main(sys.argv[1])
