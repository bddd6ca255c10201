"""The faults of faults.txt, and sources with them. A fault is there but off: the environment variable PLANTED_FAULT names
the one that is on, so that all are built at once."""
import collections
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VARIABLE = "PLANTED_FAULT"
# Before the first line of a source in C or C++, whose numbers of lines stay. It needs nothing of the C library but getenv,
# because some of these sources are loaded into other programs.
SWITCH = """#ifndef PLANTED_FAULT
#include <stdlib.h>
static inline int memprof_fault(const char* name) {
  static char on[64];
  static int known;
  if (!known) {
    const char* value = getenv("PLANTED_FAULT");
    for (int i = 0; value != 0 && value[i] != 0 && i < 63; ++i) on[i] = value[i];
    known = 1;
  }
  int i = 0;
  while (name[i] != 0 && name[i] == on[i]) ++i;
  return name[i] == on[i];
}
#define PLANTED_FAULT memprof_fault
#endif
#line 1
"""

Fault = collections.namedtuple("Fault", "name file what original planted")


def read(text):
    """The faults of a file as faults.txt."""
    faults = []
    for block in re.split(r"\n{2,}", re.sub(r"^#.*\n", "", text, flags=re.M).strip("\n")):
        head, *lines = block.split("\n")
        name, file, what = re.fullmatch(r"(\S+) (\S+): (.+)", head).groups()
        if any(line[:1] not in ("-", "+") for line in lines):
            raise ValueError(f"{name}: a line begins neither with - nor with +")
        original, planted = ("".join(line[1:] + "\n" for line in lines if line[0] == sign) for sign in "-+")
        faults.append(Fault(name, file, what, original, planted))
    return faults


def all_faults():
    with open(os.path.join(HERE, "faults.txt"), encoding="utf-8") as file:
        return read(file.read())


def language(file):
    suffix = os.path.splitext(file)[1]
    return "c" if suffix in (".cc", ".h", ".c", ".cu") else "python" if suffix == ".py" else "shell"


def condition(fault):
    return {"c": f'{VARIABLE}("{fault.name}")',
            "python": f'(__import__("os").environ.get("{VARIABLE}") == "{fault.name}")',
            "shell": f'[ "${{{VARIABLE}:-}}" = "{fault.name}" ]'}[language(fault.file)]


def wrong(fault, source):
    """Why the fault cannot be planted in the source of its file; None if it can."""
    count = ("\n" + source).count("\n" + fault.original)
    if count != 1:
        return f"the original text occurs {count} times in {fault.file}"
    if not re.search(r"\bFAULT\b", fault.planted):
        return "nothing switches it on"
    if fault.original.count("\n") != fault.planted.count("\n"):
        return "it changes the number of lines"
    return None


def plant(faults, source):
    """The source of a file with these faults, which are all of it."""
    for fault in faults:
        planted = re.sub(r"\bFAULT\b", lambda _, fault=fault: condition(fault), fault.planted)
        source = ("\n" + source).replace("\n" + fault.original, "\n" + planted, 1)[1:]
    return SWITCH + source if faults and language(faults[0].file) == "c" else source


def source_of(file):
    with open(os.path.join(ROOT, file), encoding="utf-8") as opened:
        return opened.read()


def planted_files(faults):
    """{file: its source with its faults}, and what is wrong with the faults, a line each."""
    files, problems = {}, []
    for file in dict.fromkeys(fault.file for fault in faults):
        own = [fault for fault in faults if fault.file == file]
        try:
            source = source_of(file)
        except OSError as error:
            problems += [f"{fault.name}: {error}" for fault in own]
            continue
        found = [f"{fault.name}: {why}" for fault in own if (why := wrong(fault, source))]
        problems += found
        if not found:
            files[file] = plant(own, source)
    return files, problems
