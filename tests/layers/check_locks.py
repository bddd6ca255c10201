"""Finds locks that a forked child would inherit in any state: every lock in injected code that is neither a member
of an object (its name ends in _) nor of ProcessLocks in libmemprof/src/base/locks.h.

Usage: check_locks.py SOURCE_ROOT
"""
import pathlib
import re
import sys

FOLDERS = ("libmemprof/src", "cupti_hooks/src")
# It needs a timeout, which Mutex does not have, and has its own fork handlers.
ALLOWED = {("cupti_hooks/src/source.cc", "g_control")}
LOCK = re.compile(r"""\b(?:Mutex<[^>]*>|pthread_(?:mutex|rwlock|spinlock|once|cond)_t|std::(?:recursive_|timed_|shared_|
    recursive_timed_)*mutex|std::once_flag|std::condition_variable(?:_any)?|std::(?:counting|binary)_semaphore(?:<[^>]*>)?)
    \s+(\w+)\s*(?:\[[^]]*\]\s*)?[;={(]""", re.VERBOSE)


def locks(text):
    """(line, name) of each lock that `text` declares."""
    text = re.sub(r"//[^\n]*", "", text)
    return [(text.count("\n", 0, found.start()) + 1, found[1]) for found in LOCK.finditer(text)]


def unlisted(path, text):
    if path == "libmemprof/src/base/locks.h":
        registry = re.search(r"struct alignas\([^)]*\) ProcessLocks \{.*?\n\};", text, re.DOTALL)
        text = text[: registry.start()] + "\n" * registry[0].count("\n") + text[registry.end() :]
    return [(line, name) for line, name in locks(text) if not name.endswith("_") and (path, name) not in ALLOWED]


def main():
    root = pathlib.Path(sys.argv[1])
    wrong = []
    for file in sorted(file for folder in FOLDERS for file in (root / folder).rglob("*") if file.suffix in (".h", ".cc")):
        path = file.relative_to(root).as_posix()
        wrong += [f"{path}:{line}: {name} is a lock of the process, and not in ProcessLocks (base/locks.h)"
                  for line, name in unlisted(path, file.read_text())]
    print("\n".join(wrong) or "every lock is listed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
