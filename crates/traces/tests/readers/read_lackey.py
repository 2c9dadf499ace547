"""Reads a trace of Valgrind's tool lackey with the standard library alone, checks its form, and prints its records.

Written from the public description of `--trace-mem=yes`: `I  ADDRESS,SIZE`, ` L ADDRESS,SIZE`, ` S ADDRESS,SIZE`, ` M ADDRESS,SIZE`.
"""

import lzma
import re
import sys

LINE = re.compile(r"(I | L| S| M) ([0-9a-f]{8,16}),([0-9]+)\n")


def main(path):
    opened = lzma.open(path, "rt", newline="") if path.endswith(".xz") else open(path, newline="", encoding="ascii")
    first = True
    with opened as file:
        for number, line in enumerate(file, 1):
            match = LINE.fullmatch(line)
            assert match, f"line {number}: {line!r}"
            letter, address, size = match[1].strip(), int(match[2], 16), int(match[3])
            assert size >= 1, f"line {number}: an access of no bytes"
            assert letter == "I" or not first, f"line {number}: an access before any instruction"
            first = False
            print(f"{letter}{address:x} {size}")


main(sys.argv[1])
