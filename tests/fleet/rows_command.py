#!/usr/bin/env python3
"""Stands for memprof: `rows_command.py fleet rows LOG` prints a made log. A log that begins with a word instead fails in
that way. A file MEMPROF_TEST_CALLS gets a line a call."""
import os
import signal
import sys
import time


def main():
    if sys.argv[1:3] != ["fleet", "rows"] or len(sys.argv) != 5 or not sys.argv[3].startswith("--as="):
        sys.exit("usage: fleet rows --as=NAME LOG")
    name, path = sys.argv[3][len("--as="):], sys.argv[4]
    if "MEMPROF_TEST_CALLS" in os.environ:
        with open(os.environ["MEMPROF_TEST_CALLS"], "a", encoding="utf-8") as calls:
            calls.write(name + "\n")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.startswith("slow"):
        time.sleep(float(text.split()[1]))
        text = text.split("\n", 1)[1]
    if text.startswith("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if text.startswith("grow"):
        with open(path, "a", encoding="utf-8") as file:
            file.write("\n")
        text = text.split("\n", 1)[1]
    if text.startswith("kill-executor"):  # once: the Python of the task, then the Java that started it
        text = text.split("\n", 1)[1]
        mark = path + ".killed"
        if not os.path.exists(mark):
            open(mark, "w", encoding="utf-8").close()
            _kill_executor()
    if not text.startswith("{"):
        sys.exit(f"memprof: {path}: not a memprof log")
    sys.stdout.write(text)


def _kill_executor():
    """The nearest ancestor that is an executor of Spark."""
    pid = os.getppid()
    while pid > 1:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read()
        if b"CoarseGrainedExecutorBackend" in words:
            os.kill(pid, signal.SIGKILL)
            return
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            pid = int(file.read().rsplit(")", 1)[1].split()[1])


if __name__ == "__main__":
    main()
