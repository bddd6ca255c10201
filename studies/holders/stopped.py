"""Runs cases until main() returns, whose variables are still there then, or to their end, where they stop or hang. Used
by judge_stopped.py.

    python stopped.py stop|hang CASE…

Prints "ready NAME PID" for each, waits for a line, then kills them. Each is forked after torch was imported, which takes
seconds."""
import ctypes
import os
import pathlib
import signal
import sys
import traceback
import types

import torch._dynamo  # noqa: F401  (the first step of an optimizer imports it)

HERE = pathlib.Path(__file__).resolve().parent


def halt(how, name):
    print("ready", name, os.getpid(), flush=True)
    if how == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        ctypes.PyDLL(None).sleep(1000)  # keeps the interpreter's lock


def run(how, name):
    path = HERE / "cases" / f"{name}.py"
    if not path.exists():
        path = HERE / "cases" / name / "main.py"

    def profile(frame, event, _):
        if event == "return" and frame.f_code.co_name == "main" and frame.f_code.co_filename == str(path):
            sys.setprofile(None)
            halt(how, name)
    sys.path[0] = str(path.parent)
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = str(path)
    sys.setprofile(profile)
    exec(compile(path.read_bytes(), str(path), "exec"), main.__dict__)
    sys.setprofile(None)
    halt(how, name)


def main():
    children = []
    for name in sys.argv[2:]:
        child = os.fork()
        if child == 0:
            try:
                run(sys.argv[1], name)
            except BaseException:  # pylint: disable=broad-exception-caught
                traceback.print_exc()
                print("failed", name, flush=True)
            finally:
                os._exit(1)
        children.append(child)
    sys.stdin.readline()
    for child in children:
        os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
