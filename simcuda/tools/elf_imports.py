"""The imports of a shared library: libraries, and names with their versions; and the names that it defines. Reads ELF
files of 64 bits in little-endian order, without other tools."""

import mmap
import struct

NEEDED, STRTAB, SYMTAB, STRSZ, HASH, RPATH, GNU_HASH = 1, 5, 6, 10, 4, 15, 0x6FFFFEF5
VERSYM, VERNEED, VERNEEDNUM = 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF


class NotElf(ValueError):
    """The file is not an ELF file of 64 bits in little-endian order."""


MACHINES = {62: "x86_64", 183: "aarch64"}


def machine_of(path):
    """The architecture as in `uname -m`, "" for one that memprof is not built for."""
    with open(path, "rb") as file:
        head = file.read(20)
    if len(head) < 20 or head[:6] != b"\x7fELF\x02\x01":
        raise NotElf(f"{path} is no 64-bit ELF file")
    return MACHINES.get(struct.unpack_from("<H", head, 18)[0], "")


class Imports:
    """needed: sonames; names: {name: (version or None, soname of the version or None)};
    rpath: the folders of DT_RPATH as written; defined: the names that others can import; machine: the number of the
    processor."""

    def __init__(self, path):
        self.needed, self.names, self.rpath, self.defined, self.machine = [], {}, [], [], 0
        with open(path, "rb") as file:
            try:
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError as error:
                raise NotElf(f"{path} is empty") from error
        try:
            if self.data[:6] != b"\x7fELF\x02\x01":
                raise NotElf(f"{path} is no 64-bit ELF file")
            self._read()
        except (struct.error, IndexError, OverflowError) as error:
            raise NotElf(f"{path} is damaged") from error
        finally:
            self.data.close()

    def _read(self):
        self.machine, = struct.unpack_from("<H", self.data, 18)
        self._read_sections()
        dynamic = self.sections.get(6)
        symbols = self.sections.get(11)
        if dynamic is None or symbols is None:
            return
        strings = self._section_offset(dynamic["link"])
        tags = []
        for at in range(dynamic["offset"], dynamic["offset"] + dynamic["size"], 16):
            tags.append(struct.unpack_from("<qQ", self.data, at))
        for tag, value in tags:
            if tag == NEEDED:
                self.needed.append(self._text(strings + value))
            elif tag == RPATH:
                self.rpath = self._text(strings + value).split(":")
        versions = self._read_versions()
        versym = self.sections.get(0x6FFFFFFF)
        names = self._section_offset(symbols["link"])
        for index in range(symbols["size"] // 24):
            at = symbols["offset"] + index * 24
            name, binding, _, section = struct.unpack_from("<IBBH", self.data, at)
            if section != 0 and binding >> 4 != 0:  # local ones are sections
                self.defined.append(self._text(names + name))
            if section != 0 or name == 0:
                continue
            number = 0
            if versym is not None:
                number = struct.unpack_from("<H", self.data, versym["offset"] + index * 2)[0]
            self.names[self._text(names + name)] = versions.get(number & 0x7FFF, (None, None))

    def _read_sections(self):
        offset, = struct.unpack_from("<Q", self.data, 0x28)
        size, count = struct.unpack_from("<HH", self.data, 0x3A)
        self.headers, self.sections = [], {}
        for index in range(count):
            _, kind, _, _, at, length, link, info = struct.unpack_from(
                "<IIQQQQII", self.data, offset + index * size)
            header = {"offset": at, "size": length, "link": link, "info": info}
            self.headers.append(header)
            self.sections.setdefault(kind, header)

    def _section_offset(self, index):
        return self.headers[index]["offset"]

    def _text(self, at):
        end = self.data.find(b"\0", at)
        return self.data[at:end].decode("utf-8", "replace")

    def _read_versions(self):
        """{number in the table of symbols' versions: (version, soname)}"""
        section = self.sections.get(0x6FFFFFFE)
        versions = {}
        if section is None:
            return versions
        strings = self._section_offset(section["link"])
        at = section["offset"]
        for _ in range(section["info"]):
            _, count, file, first, step = struct.unpack_from("<HHIII", self.data, at)
            soname = self._text(strings + file)
            entry = at + first
            for _ in range(count):
                _, _, number, name, entry_step = struct.unpack_from("<IHHII", self.data, entry)
                versions[number] = (self._text(strings + name), soname)
                entry += entry_step
            at += step
        return versions
