"""Says what a WebAssembly module imports; exits 1 if that is anything at all, 2 if it is not a module."""

import sys


def number(data, at):
    """Reads an unsigned LEB128 number."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def name(data, at):
    length, at = number(data, at)
    return data[at : at + length].decode(), at + length


def imports(data):
    """Yields the first import, if there is one: what comes after it would need its kind to be read."""
    at = 8
    while at < len(data):
        section, at = data[at], at + 1
        size, at = number(data, at)
        if section == 2:
            count, inside = number(data, at)
            if count:
                space, inside = name(data, inside)
                field, inside = name(data, inside)
                yield f"{count} functions, memories or the like, the first of them {space} {field}"
        at += size


def main():
    data = open(sys.argv[1], "rb").read()
    if data[:8] != b"\0asm\x01\0\0\0":
        print(f"{sys.argv[1]} is not a WebAssembly module", file=sys.stderr)
        return 2
    found = list(imports(data))
    for line in found:
        print(f"imports {line}")
    return 1 if found else 0


sys.exit(main())
