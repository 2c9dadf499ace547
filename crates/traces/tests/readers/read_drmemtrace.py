"""Reads an archive of drmemtrace with the standard library alone, checks the rules of the format, and prints its records.

Written from DynamoRIO's public description of the format (version 7): entries of 12 bytes, little-endian, which are a type, a size and a value; a zip
file of chunks, each of which stands alone. With a second argument `riscv`, the targets of direct branches are decoded and compared with what follows.
"""

import struct
import sys
import zipfile

ENTRY = struct.Struct("<HHQ")
READ, WRITE = 0, 1
KINDS = {
    10: "-", 11: "jump", 12: "indirect-jump", 14: "call", 15: "indirect-call", 16: "return", 48: "taken", 49: "untaken",
}
INDIRECT = ("indirect-jump", "indirect-call", "return")
THREAD, EXIT, PROCESS, HEADER, FOOTER, MARKER, ENCODING = 22, 23, 24, 25, 26, 28, 47
TIMESTAMP, CPU, FILE_TYPE, LINE, VERSION, WINDOW, PAGE = 2, 3, 9, 10, 12, 14, 18
CHUNK_INSTRUCTIONS, CHUNK_FOOTER, ORDINAL, TARGET, EVENT, RETURN = 20, 21, 22, 29, 42, 43
# Entries that tools do not see, and that ordinals do not count.
HIDDEN = (THREAD, PROCESS, HEADER, ENCODING, FOOTER)
ENCODINGS, WHOLE_SYSTEM = 0x200, 0x40000


def bits(encoding, places):
    """The bits of an immediate: pairs of a place in the encoding and one in the value, the last one being the sign."""
    value = 0
    for source, destination in places:
        value |= (encoding >> source & 1) << destination
    sign = places[-1][1]
    return value - (1 << sign + 1) if value >> sign & 1 else value


def direct_target(pc, encoding):
    """Where a jump or a conditional branch of RISC-V goes when it is taken (jal, branches, c.j, c.beqz, c.bnez)."""
    if encoding & 3 == 3 and encoding & 0x7F == 0x6F:
        places = [(21 + n, 1 + n) for n in range(10)] + [(20, 11)] + [(12 + n, 12 + n) for n in range(8)] + [(31, 20)]
    elif encoding & 3 == 3:
        places = [(8 + n, 1 + n) for n in range(4)] + [(25 + n, 5 + n) for n in range(6)] + [(7, 11), (31, 12)]
    elif encoding >> 13 == 5:
        places = [(3, 1), (4, 2), (5, 3), (11, 4), (2, 5), (7, 6), (6, 7), (9, 8), (10, 9), (8, 10), (12, 11)]
    else:
        places = [(3, 1), (4, 2), (10, 3), (11, 4), (2, 5), (5, 6), (6, 7), (12, 8)]
    return pc + bits(encoding, places)


class Entries:
    """The entries of a chunk, unpacked when they are used: a chunk may have millions."""

    def __init__(self, content):
        self.content = content

    def __len__(self):
        return len(self.content) // ENTRY.size

    def __iter__(self):
        return ENTRY.iter_unpack(self.content)

    def __getitem__(self, which):
        begin, end, _ = which.indices(len(self))
        return list(ENTRY.iter_unpack(self.content[begin * ENTRY.size : max(begin, end) * ENTRY.size]))


class Checker:
    """What is known between entries."""

    def __init__(self, decodes):
        self.decodes = decodes
        self.visible = 0
        self.time = self.cpu = None
        self.expected = None  # The address of the next instruction, if it is known.
        self.latest = None  # The latest instruction, until something other than its accesses follows.
        self.traps = 0
        self.windows = 0

    def chunk(self, entries, index, last, per_chunk):
        """Checks a chunk."""
        encodings, encoding, target, instructions, skip = {}, None, None, 0, 0
        if index:
            head = [(MARKER, ORDINAL, self.visible), (MARKER, TIMESTAMP, self.time), (MARKER, CPU, self.cpu)]
            assert entries[:3] == head, f"the chunk begins with {entries[:3]}, and not with {head}"
            skip = 3
        for number, (kind, size, value) in enumerate(entries):
            if number < skip:
                continue
            at = f"chunk {index}, entry {number}"
            if kind not in HIDDEN and not (kind == MARKER and size in (ORDINAL, TARGET)):
                self.visible += 1
            if encoding is not None or target is not None:
                assert kind in KINDS or (kind, size) == (MARKER, TARGET), f"{at}: an encoding or a target before {kind}"
            if kind == ENCODING:
                assert size in (2, 4) and value < 1 << 8 * size, f"{at}: an encoding of {size} bytes"
                encoding = (size, value)
            elif kind in KINDS:
                name = KINDS[kind]
                if encoding is not None:
                    assert encoding[0] == size, f"{at}: {size} bytes, encoding of {encoding[0]}"
                    encodings[value] = encoding
                assert value in encodings, f"{at}: no encoding in this chunk before the first use"
                assert (target is not None) == (name in INDIRECT), f"{at}: {name}, target {target}"
                assert self.expected in (None, value), f"{at}: {value:x} follows, and not {self.expected:x}"
                bits_of = encodings[value][1]
                if name in INDIRECT:
                    self.expected = target
                elif name in ("jump", "call", "taken"):
                    self.expected = direct_target(value, bits_of) if self.decodes else None
                else:
                    self.expected = value + size
                self.latest = (name, value + size)
                encoding = target = None
                instructions += 1
                print(f"I{value:x} {size} {name} {bits_of:x}")
            elif kind in (READ, WRITE):
                assert self.latest, f"{at}: an access that follows no instruction"
                assert size >= 1, f"{at}: an access of no bytes"
                print(f"{'LS'[kind]}{value:x} {size}")
            elif kind == MARKER:
                if size == TARGET:
                    assert target is None, f"{at}: two targets"
                    target = value
                else:
                    self.marker(at, size, value, entries[number + 1 : number + 2])
            else:
                assert last and entries[number:] == [(EXIT, 0, 1), (FOOTER, 0, 0)], f"{at}: type {kind}"
                return
            if size == CHUNK_FOOTER and kind == MARKER:
                assert not last and value == index and number == len(entries) - 1, f"{at}: footer {value}"
                assert instructions == per_chunk, f"{at}: {instructions} instructions, and not {per_chunk}"
        assert not last, "the trace has no end"

    def marker(self, at, size, value, following):
        """Checks a marker. An instruction's accesses come before it."""
        latest, self.latest = self.latest, None
        if size == TIMESTAMP:
            assert self.time is None or value >= self.time, f"{at}: time goes back"
            assert following and following[0][:2] == (MARKER, CPU), f"{at}: a time without a processor"
            self.time = value
        elif size == CPU:
            self.cpu = value
        elif size == WINDOW:
            assert value == self.windows, f"{at}: window {value}, and not {self.windows}"
            self.windows += 1
            self.expected = None
            print("window")
        elif size == EVENT:
            assert self.expected in (None, value), f"{at}: trap at {value:x}, and not {self.expected:x}"
            self.traps += 1
            self.expected = None
            print(f"trap {value:x}")
        elif size == RETURN:
            assert self.traps, f"{at}: a return without a trap"
            assert latest == ("indirect-jump", value), f"{at}: a return behind {latest}"
            self.traps -= 1
            print(f"return {value:x}")
        else:
            assert size == CHUNK_FOOTER, f"{at}: marker {size}"


def main(path, *options):
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert names == [f"chunk.{number:08}" for number in range(len(names))], names
        checker = Checker("riscv" in options)
        for index, name in enumerate(names):
            content = archive.read(name)
            assert len(content) % ENTRY.size == 0, "an entry is cut off"
            entries = Entries(content)
            if not index:
                per_chunk = check_header(entries[:9])
                entries = Entries(content[8 * ENTRY.size :])
                checker.visible = 5
            checker.chunk(entries, index, index == len(names) - 1, per_chunk)


def check_header(header):
    """Checks the first entries; returns how many instructions a chunk has."""
    per_chunk = header[6][2]
    wanted = [
        (HEADER, 0, 7), (MARKER, VERSION, 7), (MARKER, FILE_TYPE, ENCODINGS | WHOLE_SYSTEM), (THREAD, 0, 1), (PROCESS, 0, 1),
        (MARKER, LINE, 64), (MARKER, CHUNK_INSTRUCTIONS, per_chunk), (MARKER, PAGE, 4096),
    ]
    assert header[:8] == wanted, f"the header is {header}"
    assert header[8][:2] == (MARKER, TIMESTAMP), "no time at the beginning"
    return per_chunk


main(*sys.argv[1:])
