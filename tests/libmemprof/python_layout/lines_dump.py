# Prints code objects of the standard library with their lines according to Python itself:
# "code FORMAT FIRST_LINE TABLE_IN_HEX OFFSET:LINE,OFFSET:LINE,…" for every instruction.
import dis
import importlib
import sys

MODULES = """argparse ast asyncio.base_events asyncio.tasks collections configparser contextlib csv
dataclasses datetime decimal difflib dis email.message fractions functools heapq http.client http.cookies
inspect json.decoder logging logging.handlers mailbox nntplib optparse os pathlib pdb pickle pickletools
platform pprint pydoc random re shutil smtplib socket socketserver ssl statistics string subprocess
tarfile tempfile textwrap threading tokenize traceback turtle types typing unittest.mock urllib.parse
urllib.request uuid warnings weakref xml.dom.minidom xml.etree.ElementTree zipfile _pydatetime
_pydecimal _pyio""".split()


def codes_in(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes_in(constant)


def lines_of(code):
    lines = {}
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            for offset in range(start, end, 2):
                lines[offset] = line or 0
        return lines
    starts, line = dict(dis.findlinestarts(code)), code.co_firstlineno
    for offset in range(0, len(code.co_code), 2):
        line = starts.get(offset, line)
        lines[offset] = line
    return lines


def main():
    form = "locations" if sys.version_info >= (3, 11) else "ranges"
    if sys.version_info < (3, 10):
        form = "lnotab"
    for name in MODULES:
        try:
            path = importlib.util.find_spec(name).origin
            with open(path, encoding="utf-8") as file:
                module = compile(file.read(), path, "exec")
        except Exception:
            continue
        for code in codes_in(module):
            table = code.co_linetable if form != "lnotab" else code.co_lnotab
            lines = ",".join("%d:%d" % item for item in sorted(lines_of(code).items()))
            print("code", form, code.co_firstlineno, table.hex() or "-", lines)


import importlib.util
main()
