"""Answers `memprof holders PID`: a thread of its own waits on a socket, asks the main thread for a look, and writes the
result as JSON. If the main thread does not come to it, the thread looks itself and leaves out what that may be changing.
Between questions it has looks made of programs in which no step was seen.

The socket has a name without a file, so that nothing is left behind, and answers this user and root alone.
"""

import _thread
import fcntl
import json
import os
import signal
import socket
import struct
import time

from . import look as looks
from .finder import Finder
from .shield import shielded

_FIRST_DESCRIPTOR = 512  # programs count on the low ones
_SECONDS = 10  # for a client that does not read
_PATIENCE = 2  # seconds, for the main thread
_LIMIT = "The main thread executes native code or waits: what graphs of autograd save, and gradients, are left out."
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid


def _name():
    return "\0memprof-holders-%d" % os.getpid()


def _listening():
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as low:
        low.bind(_name())
        low.listen(4)
        try:
            return socket.socket(fileno=fcntl.fcntl(low.fileno(), fcntl.F_DUPFD_CLOEXEC, _FIRST_DESCRIPTOR))
        except OSError:  # so many are not allowed
            return socket.socket(fileno=fcntl.fcntl(low.fileno(), fcntl.F_DUPFD_CLOEXEC, 0))


class _Request:
    """A look that is asked of the main thread."""

    def __init__(self, look, torch):
        self._look, self._torch = look, torch
        self.asked = self.begun = False
        self.result = None
        self._done = _thread.allocate_lock()
        self._done.acquire()

    def wait(self, seconds):
        if self._done.acquire(timeout=seconds):
            self._done.release()

    def call(self):
        """In the main thread. Nothing is raised there but what a handler of the program raised."""
        self.asked = False
        if self.begun or looks.is_traced(self._torch) or looks.in_backward_pass(looks.interrupted()):
            return  # it will be asked again
        self.begun = True
        try:
            self.result = self._look()
        except Exception as error:  # pylint: disable=broad-except
            self.result = _words(error)
            if looks.is_of_program(error):
                raise
        finally:
            self._done.release()


def _words(error):
    return {"error": "%s: %s" % (type(error).__name__, error)}


class Server:
    """OSError if the socket's name is taken. `tick()`, if it is given: what is done when a time has passed without a
    question; returns the seconds until it should be called again, or None for never."""

    def __init__(self, library, torch, tick=None):
        self._tick = tick
        self._torch = torch
        self._finder = Finder(library, torch)
        self._call_in_main = library.call_in_main
        self._socket = _listening()
        os.register_at_fork(after_in_child=self._socket.close)  # the child has no thread that would answer
        _thread.start_new_thread(self._serve, ())

    def _serve(self):
        if self._tick is not None:
            self._socket.settimeout(self._tick())
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # the program's threads get them
        try:
            # A program may close all descriptors and open others: then this number is not ours any more.
            while self._socket.getsockname() == _name().encode():
                try:
                    connection, _ = self._socket.accept()
                except socket.timeout:  # TimeoutError from 3.10 on
                    self._socket.settimeout(self._tick())
                    continue
                with connection:
                    self._answer(connection)
        except OSError:
            pass

    def _answer(self, connection):
        """Never fails: who asks may have gone, or be somebody else."""
        try:
            uid = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[1]
            if uid in (0, os.geteuid()):
                connection.settimeout(_SECONDS)
                connection.sendall(json.dumps(self._document(), ensure_ascii=False).encode("utf-8", "replace"))
        except OSError:
            pass
        except Exception as error:  # pylint: disable=broad-except
            self._tell(connection, error)

    @staticmethod
    def _tell(connection, error):
        try:
            connection.sendall(json.dumps(_words(error)).encode())
        except OSError:
            pass

    def _document(self):
        """By a look of the main thread, at a point where no operation of PyTorch runs in it; if it makes none in time,
        by one of this thread, which leaves out what the main thread may be changing."""
        request = _Request(self._look, self._torch)
        call = shielded(self._torch, request.call)
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and not request.begun:
            if not request.asked:
                request.asked = True  # before: the main thread may come to it at once
                if self._call_in_main(call) != 0:
                    request.asked = False
            request.wait(_PATIENCE / 20)
        if request.begun:
            request.wait(_SECONDS)
            return request.result or {"error": "the look takes too long"}
        request.begun = True  # nobody else
        return dict(self._look(graphs=False), limits=[_LIMIT])

    def _look(self, graphs=True):
        begin = time.monotonic()
        found = self._finder.find(graphs)
        holders = [{"device": held.device, "address": held.address, "bytes": held.bytes, "path": holder.line,
                    "root": holder.root, "chain": holder.chain, "kind": holder.kind}
                   for held in found for holder in held.holders]
        rest = self._finder.rest(found)
        without = {} if rest is None else {"without_holder": {"bytes": rest[0], "blocks": rest[1]}}
        return {**without, "objects": self._finder.examined, "pause_ns": int((time.monotonic() - begin) * 1e9),
                "garbage_bytes": sum(held.bytes for held in found if held.is_garbage()), "holders": holders}


def start(library, torch, tick=None):
    """Begins to answer. Never fails: without the socket the process is only not asked."""
    try:
        Server(library, torch, tick)
    except Exception:  # pylint: disable=broad-except
        pass
