"""What the tests of packaging/ have in common: small prefixes in the place of installed ones."""
import contextlib
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest.mock

EPOCH = 1_700_000_000
os.environ["SOURCE_DATE_EPOCH"] = str(EPOCH)
_times = itertools.count(1_600_000_000, 100_000)  # no two files are equally old


def temporary(test):
    """A folder for a test, or for all of a class."""
    folder = tempfile.TemporaryDirectory()
    (test.addClassCleanup if isinstance(test, type) else test.addCleanup)(folder.cleanup)
    return pathlib.Path(folder.name)


def write(folder, files):
    """{path below `folder`: text}; what begins with #! becomes a program."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        if content.startswith("#!"):
            path.chmod(0o755)
        os.utime(path, (next(_times),) * 2)


@contextlib.contextmanager
def as_another_user():
    before = os.umask(0o077)
    try:
        with unittest.mock.patch.dict(os.environ, TZ="Asia/Tokyo"):
            yield
    finally:
        os.umask(before)


def run(program, **options):
    words = [f"--{name}={value}" for name, value in options.items()]
    return subprocess.run([sys.executable, "-B", program, *words], capture_output=True, text=True, check=False)
