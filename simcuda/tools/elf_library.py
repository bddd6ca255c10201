"""Writes the shared object of a stand-in, without a compiler: each function jumps to `standin_enter` of another
library, with the address of its `struct function` (simcuda/libraries/calls.c) in a register that no argument uses."""

import collections
import struct

X86_64, AARCH64 = 62, 183
PAGE = 0x10000  # the largest of both processors
STUB_BYTES, SLOT_BYTES, LIBRARY_BYTES, FUNCTION_BYTES = 16, 16, 16, 40
ENTER = "standin_enter"
# The relocation by which the loader stores the address of a function.
RELOCATION = {X86_64: 6, AARCH64: 1025}
ALLOC, WRITE, EXEC = 2, 1, 4

Function = collections.namedtuple("Function", "name version rules has_code")
# needed: the soname of the library with ENTER, in `folder`; part: the path of the functions' own code, or ""
Target = collections.namedtuple("Target", "machine needed folder part")


class Section:
    def __init__(self, name, kind, flags, align, content, link="", entry=0, info=0):
        self.name, self.kind, self.flags, self.align = name, kind, flags, align
        self.content, self.link, self.entry, self.info = content, link, entry, info
        self.offset = self.address = 0


class Texts:
    """A table of strings, which are found by their offset."""

    def __init__(self):
        self.content, self.places = b"\0", {"": 0}

    def add(self, text):
        if text not in self.places:
            self.places[text] = len(self.content)
            self.content += text.encode() + b"\0"
        return self.places[text]


def gnu_hash(name):
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def version_hash(name):
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value >> 24 & 0xF0)) & 0x0FFFFFFF
    return value


def hash_table(functions, first):
    """(the functions in the order of the table, the table): buckets of four, and a filter that lets all names pass."""
    count = len(functions) // 4 + 1
    hashes = {one: gnu_hash(one.name) for one in functions}
    functions = sorted(functions, key=lambda one: (hashes[one] % count, one.name))
    buckets, chains = [0] * count, []
    for index, one in enumerate(functions):
        bucket = hashes[one] % count
        buckets[bucket] = buckets[bucket] or first + index
        last = index + 1 == len(functions) or hashes[functions[index + 1]] % count != bucket
        chains.append(hashes[one] & ~1 | last)
    head = struct.pack("<IIIIQ", count, first, 1, 0, 2**64 - 1)
    return functions, head + struct.pack(f"<{count + len(chains)}I", *buckets, *chains)


def version_definitions(soname, nodes, texts):
    content = b""
    for index, name in enumerate([soname] + nodes):
        content += struct.pack("<HHHHIIIII", 1, index == 0, index + 1, 1, version_hash(name), 20,
                               0 if index == len(nodes) else 28, texts.add(name), 0)
    return content


def stub(machine, description, slot):
    """The code of a function, from which its description and the address of ENTER have these distances."""
    if machine == X86_64:  # lea description(%rip), %r11; jmp *slot(%rip)
        return struct.pack("<3sI2sI3s", b"\x4c\x8d\x1d", description - 7, b"\xff\x25", slot - 13, b"\xcc" * 3)
    if description >= 1 << 20:
        raise ValueError("more functions than a library for aarch64 can have here")
    slot -= 4  # adr x16, description; ldr x17, slot; br x17; nop
    return struct.pack("<4I", 0x10000010 | (description & 3) << 29 | (description >> 2) << 5,
                       0x58000011 | (slot >> 2) << 5, 0xD61F0220, 0xD503201F)


def descriptions(soname, version, functions, part):
    """The writable data: a place for the address of ENTER, `struct library`, each `struct function`, their texts."""
    texts, first = Texts(), SLOT_BYTES + LIBRARY_BYTES
    end = first + FUNCTION_BYTES * len(functions)
    at = lambda text, place: end + texts.add(text) - place  # noqa: E731
    content = bytes(SLOT_BYTES) + struct.pack("<4i", at(soname, SLOT_BYTES),
                                                        at(part, SLOT_BYTES) if part else 0, *version)
    for index, one in enumerate(functions):
        place = first + FUNCTION_BYTES * index
        content += struct.pack("<4i24x", SLOT_BYTES - place, at(one.name, place), at(" ".join(one.rules), place),
                               one.has_code)
    return content + texts.content


def place(sections):
    """Gives all sections their offsets and addresses; those with data to write are mapped apart from the others."""
    offset = 64 + 4 * 56
    for one in sections:
        offset += -offset % one.align
        one.offset = offset
        one.address = (offset + (PAGE if one.flags & WRITE else 0)) if one.flags & ALLOC else 0
        offset += len(one.content)
    return offset


def dynamic_entries(of, soname, target, texts, nodes):
    entries = [(1, texts.add(target.needed)), (14, texts.add(soname)), (29, texts.add(target.folder)),
               (0x6FFFFEF5, of[".gnu.hash"].address), (5, of[".dynstr"].address), (6, of[".dynsym"].address),
               (10, len(texts.content)), (11, 24), (7, of[".rela.dyn"].address), (8, 24), (9, 24),
               (0x6FFFFFFB, 8)]  # never unloaded: the library with ENTER remembers the functions
    if nodes:
        entries += [(0x6FFFFFF0, of[".gnu.version"].address), (0x6FFFFFFC, of[".gnu.version_d"].address),
                    (0x6FFFFFFD, len(nodes) + 1)]
    return b"".join(struct.pack("<qQ", *entry) for entry in entries + [(0, 0)])


def all_sections(soname, version, functions, target):
    texts = Texts()
    texts.add(ENTER)
    nodes = sorted({one.version for one in functions if one.version})
    functions, hashes = hash_table(functions, 2)
    symbols = bytes(24 * (len(functions) + 2))  # filled when addresses are known
    for text in [one.name for one in functions] + [target.needed, soname, target.folder]:
        texts.add(text)
    numbers = [0, 1] + [nodes.index(one.version) + 2 if one.version else 1 for one in functions]
    versions = [Section(".gnu.version", 0x6FFFFFFF, ALLOC, 2, struct.pack(f"<{len(numbers)}H", *numbers), ".dynsym", 2),
                Section(".gnu.version_d", 0x6FFFFFFD, ALLOC, 8, version_definitions(soname, nodes, texts), ".dynstr",
                        info=len(nodes) + 1)]
    sections = [Section(".dynsym", 11, ALLOC, 8, symbols, ".dynstr", 24, 1),
                Section(".gnu.hash", 0x6FFFFFF6, ALLOC, 8, hashes, ".dynsym"), *(versions if nodes else []),
                Section(".dynstr", 3, ALLOC, 1, texts.content),
                Section(".rela.dyn", 4, ALLOC, 8, bytes(24), ".dynsym", 24),
                Section(".text", 1, ALLOC | EXEC, 16, bytes(STUB_BYTES * len(functions))),
                Section(".dynamic", 6, ALLOC | WRITE, 8, bytes(16 * 16), ".dynstr", 16),
                Section(".data", 1, ALLOC | WRITE, 16, descriptions(soname, version, functions, target.part))]
    place(sections)
    of = {one.name: one for one in sections}
    index = [one.name for one in sections].index(".text") + 1
    code, data = of[".text"].address, of[".data"].address
    of[".dynsym"].content = struct.pack("<24xIBBHQQ", texts.add(ENTER), 0x10, 0, 0, 0, 0) + b"".join(
        struct.pack("<IBBHQQ", texts.add(one.name), 0x12, 0, index, code + STUB_BYTES * i, STUB_BYTES)
        for i, one in enumerate(functions))
    of[".rela.dyn"].content = struct.pack("<QQq", data, 1 << 32 | RELOCATION[target.machine], 0)
    of[".text"].content = b"".join(
        stub(target.machine, data + SLOT_BYTES + LIBRARY_BYTES + FUNCTION_BYTES * i - at, data - at)
        for i, at in ((i, code + STUB_BYTES * i) for i in range(len(functions))))
    of[".dynamic"].content = dynamic_entries(of, soname, target, texts, nodes).ljust(16 * 16, b"\0")
    return sections


def program_headers(sections):
    of = {one.name: one for one in sections}
    dynamic, data = of[".dynamic"], of[".data"]
    head_end = of[".text"].offset + len(of[".text"].content)
    size = data.offset + len(data.content) - dynamic.offset
    return b"".join(struct.pack("<IIQQQQQQ", kind, flags, offset, address, address, length, length, align)
                    for kind, flags, offset, address, length, align in (
                        (1, 5, 0, 0, head_end, PAGE),
                        (1, 6, dynamic.offset, dynamic.address, size, PAGE),
                        (2, 6, dynamic.offset, dynamic.address, len(dynamic.content), 8),
                        (0x6474E551, 6, 0, 0, 0, 16)))  # the stack is not executable


def section_headers(sections, names):
    indices = {"": 0, **{one.name: index + 1 for index, one in enumerate(sections)}}
    return bytes(64) + b"".join(
        struct.pack("<IIQQQQIIQQ", names.add(one.name), one.kind, one.flags, one.address, one.offset, len(one.content),
                    indices[one.link], one.info, one.align, one.entry) for one in sections)


def library(soname, version, functions, target):
    """The content of the file. version: (number as the library's functions return it, what its major counts)."""
    if target.machine not in RELOCATION:
        raise ValueError(f"{target.folder}/{target.needed} is for an unknown processor")
    sections = all_sections(soname, version, functions, target)
    names = Texts()
    for one in sections + [Section(".shstrtab", 3, 0, 1, b"")]:
        names.add(one.name)
    sections.append(Section(".shstrtab", 3, 0, 1, names.content))
    end = place(sections)
    content = bytearray(end + -end % 8)
    table = len(content)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, target.machine, 1, 0, 64, table, 0, 64, 56, 4, 64,
                       len(sections) + 1, len(sections))
    content[:64 + 4 * 56] = head + program_headers(sections)
    for one in sections:
        content[one.offset:one.offset + len(one.content)] = one.content
    return bytes(content) + section_headers(sections, names)
