"""Starts programs that are read, and the reader. The arguments of the test are BUILD SOURCE."""
import os
import subprocess
import sys

BUILD, SOURCE = sys.argv[1:3]
HERE = os.path.join(SOURCE, "tests", "holders", "remote")


class Guest:
    """A program that says when it is ready, and goes on when it gets a line."""

    def __init__(self, name, *arguments):
        self.process = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, name), *arguments],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        ready = self.process.stdout.readline().split()
        assert ready[:1] == ["ready"], ready
        self.pid = ready[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def finish(self):
        return self.process.communicate("\n", timeout=100)[0].splitlines()


def reach(*arguments):
    """The lines that the reader prints."""
    done = subprocess.run([reach.program, *arguments], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stdout[-500:], done.stderr[-3000:])
    return done.stdout.splitlines()


reach.program = os.environ.get("REMOTE_REACH", os.path.join(BUILD, "bin", "remote_reach"))
