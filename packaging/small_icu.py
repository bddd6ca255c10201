"""A small libicudata: 31 MB of locales become 2. Qt's own tables have the languages; from ICU it needs the root
of each: the order of text, time zones, aliases of character sets. ICU falls back to the root for the rest."""

import fnmatch
import os
import re
import subprocess
import tempfile

KEEP = ["root.res", "pool.res", "res_index.res", "coll/root.res", "coll/ucadata.icu", "coll/pool.res", "coll/res_index.res",
        "cnvalias.icu", "*.nrm", "icuver.res", "keyTypeData.res", "likelySubtags.res", "metaZones.res",
        "numberingSystems.res", "plurals.res", "supplementalData.res", "timezoneTypes.res", "windowsZones.res",
        "zoneinfo64.res"]
SYMBOL = re.compile(r"^\s*\d+: ([0-9a-f]+)\s+(\S+)\s+OBJECT\s+GLOBAL\s+DEFAULT\s+(\d+) (icudt\d+_dat)$", re.M)


def tool(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def extract(library, path):
    """Writes the data of libicudata to `path`; returns the name of its symbol."""
    address, size, section, name = SYMBOL.search(tool("readelf", "--dyn-syms", "-W", library)).groups()
    start, offset = re.search(rf"^\s*\[\s*{section}\] \S+\s+\S+\s+([0-9a-f]+) ([0-9a-f]+)",
                              tool("readelf", "-SW", library), re.M).groups()
    with open(library, "rb") as file, open(path, "wb") as out:
        file.seek(int(address, 16) - int(start, 16) + int(offset, 16))
        out.write(file.read(int(size, 0)))
    return name


def shrink(library, cc):
    """Replaces the data in the shared library `library`, whose name is that of its SONAME."""
    with tempfile.TemporaryDirectory() as folder:
        # Files of data are named as in ICU: icudt72l.dat, l for little-endian.
        all_data = os.path.join(folder, "all.dat")
        name = extract(library, all_data)
        data = os.path.join(folder, name.replace("_dat", "l.dat"))
        os.rename(all_data, data)
        unwanted = [item for item in tool("icupkg", "-l", data).split()
                    if not any(fnmatch.fnmatchcase(item, pattern) for pattern in KEEP)]
        listed, small = os.path.join(folder, "unwanted.txt"), os.path.join(folder, "small", os.path.basename(data))
        with open(listed, "w", encoding="utf-8") as file:
            file.write("\n".join(unwanted) + "\n")
        os.mkdir(os.path.dirname(small))
        tool("icupkg", "-tl", "-r", listed, data, small)
        source = os.path.join(folder, "data.S")
        with open(source, "w", encoding="utf-8") as file:
            file.write(f'.section .note.GNU-stack,"",%progbits\n.section .rodata\n.balign 16\n.globl {name}\n'
                       f'.type {name}, %object\n{name}: .incbin "{small}"\n.size {name}, .-{name}\n')
        tool(cc, "-shared", "-nostdlib", "-s", f"-Wl,-soname,{os.path.basename(library)}", "-o", library, source)
