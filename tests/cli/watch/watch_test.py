#!/usr/bin/env python3
"""memprof watch beside programs that run: who may ask, what is told, and that no program notices.

usage: watch_test.py BUILD
"""

import contextlib
import http.server
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

BUILD = os.path.abspath(sys.argv[1])
MEMPROF, TRAINER, GUEST = (os.path.join(BUILD, "bin", name) for name in ("memprof", "demo_trainer", "leakbench_live"))
TINY = ["--layers", "1", "--dim", "16", "--heads", "2", "--context", "8", "--batch", "4", "--quiet"]
TELL = 'printf "%s|%s\\n" "$MEMPROF_ALERT" "$MEMPROF_ALERT_TEXT" >>'


def eventually(check, seconds=60):
    """The first result that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = check()
        if result:
            return result
        time.sleep(0.1)
    raise AssertionError("did not happen")


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(child) for child in file.read().split()]


class Watch(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = directory.name
        self.socket = os.path.join(self.folder, "socket")
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("MEMPROF_", "OTEL_"))}
        self.environment["XDG_RUNTIME_DIR"] = self.folder

    def start(self, *arguments, **more):
        process = subprocess.Popen([MEMPROF, *arguments], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=dict(self.environment, **more))
        self.addCleanup(lambda: (process.poll() is None and process.kill(), process.wait(), process.stdout.close(),
                                 process.stderr.close()))
        return process

    def file(self, name):
        try:
            with open(os.path.join(self.folder, name)) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def ask(self):
        """What the unix socket answers; "" if nobody listens, or no longer."""
        with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
            client.connect(self.socket)
            client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            return b"".join(iter(lambda: client.recv(65536), b"")).decode()
        return ""

    def test_a_run_has_metrics_and_alerts(self):
        run = self.start("run", "--sim=memory=900GiB", "--stack-depth=2", "-o", "a.mprof", "--metrics",
                         "unix:" + self.socket, "--alert", TELL + "alerts", "--alert-above", "1MiB", "--", GUEST,
                         "held-out", "1", "40", "100")
        eventually(lambda: "memprof_leak_bytes_per_step{" in self.ask())
        answer = self.ask()
        self.assertRegex(answer, r'memprof_up\{pid="\d+"\} 1\n')
        self.assertRegex(answer, r'memprof_step\{pid="\d+"\} [1-9]')
        self.assertEqual(stat.S_IMODE(os.stat(self.socket).st_mode), 0o600)
        out, err = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0, err)
        self.assertEqual(len(json.loads(out)["begins"]), 40)  # the program's own words
        self.assertFalse(os.path.exists(self.socket))
        alerts = self.file("alerts").splitlines()
        self.assertEqual(len([line for line in alerts if line.startswith("budget|")]), 1, alerts)
        leaks = [line for line in alerts if line.startswith("leak|suspected leak on GPU 0: ")]
        place = next(case["place"] for case in json.loads(out)["cases"] if case["name"] == "norms_of_gradients")
        self.assertEqual(len([line for line in leaks if place + "::" in line]), 1, alerts)

    def test_nothing_starts_without_the_address(self):
        for address, why in (("unix:/nowhere/socket", "No such file"), ("tcp:0.0.0.0:9464", "other machines")):
            run = self.start("run", "--sim", "--metrics", address, "--", "touch", "started")
            _, err = run.communicate(timeout=60)
            self.assertEqual(run.returncode, 1)
            self.assertIn(why, err)
            self.assertEqual(err.count("\n"), 1, err)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "started")))

    def test_its_death_is_not_the_programs(self):
        run = self.start("run", "--sim", "-o", "a.mprof", "--metrics", "unix:" + self.socket, "--alert", "exit 3", "--",
                         TRAINER, *TINY, "--steps", "1000000")
        eventually(lambda: "memprof_up" in self.ask())

        def programs():
            found = {}
            for pid in children(run.pid):
                with contextlib.suppress(FileNotFoundError):  # one that has just ended
                    found[os.readlink("/proc/%d/exe" % pid)] = pid
            return found

        eventually(lambda: set(programs()) == {MEMPROF, TRAINER})  # the trainer may just be starting
        os.kill(programs()[MEMPROF], signal.SIGKILL)
        eventually(lambda: set(programs()) == {TRAINER})
        os.kill(programs()[TRAINER], signal.SIGTERM)
        _, err = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 128 + signal.SIGTERM, err)
        self.assertIn("recorded to a.mprof", err)

    def test_a_port_needs_the_token(self):
        watch = self.start("run", "--sim", "-o", "a.mprof", "--metrics", "tcp:127.0.0.1:0", "--", TRAINER, *TINY, "--steps",
                           "100000")
        note = watch.stderr.readline()
        url, path = re.search(r"(http://127.0.0.1:\d+/metrics), with the token of (\S+)", note).groups()
        with open(path) as file:
            token = file.read()
        for header in ({}, {"Authorization": "Bearer " + token[:-1] + "x"}):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(urllib.request.Request(url, headers=header), timeout=10)
            self.assertEqual(refused.exception.code, 401)
        right = urllib.request.Request(url, headers={"Authorization": "Bearer " + token})
        eventually(lambda: b"memprof_up" in urllib.request.urlopen(right, timeout=10).read())
        watch.terminate()  # and with it the program
        watch.communicate(timeout=120)

    def test_a_collector_is_sent_what_is_new(self):
        got = []

        class Collector(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                got.append((self.path, self.headers["Content-Type"], self.headers["api-key"], json.loads(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        run = self.start("run", "--sim", "-o", "a.mprof", "--metrics", "otlp:http://127.0.0.1:%d" % server.server_port, "--",
                         TRAINER, *TINY, "--steps", "50", OTEL_EXPORTER_OTLP_HEADERS="api-key=a%20b")
        run.communicate(timeout=120)
        self.assertTrue(got)
        path, kind, key, body = got[-1]
        self.assertEqual((path, kind, key), ("/v1/metrics", "application/json", "a b"))
        names = [metric["name"] for metric in body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]]
        self.assertIn("memprof_peak_bytes", names)

    def test_it_ends_with_the_logs(self):
        self.start("run", "--sim", "-o", "a.mprof", "--", TRAINER, *TINY, "--steps", "5").communicate(timeout=120)
        watch = self.start("watch", "--alert", TELL + "alerts", "--alert-above", "1MiB", "a.mprof")
        _, err = watch.communicate(timeout=60)
        self.assertEqual((watch.returncode, err), (0, ""))
        self.assertEqual(self.file("alerts"), "")  # it has freed all of its memory
        nothing = self.start("watch", "--alert", "true", "b.mprof")
        _, err = nothing.communicate(timeout=60)
        self.assertEqual((nothing.returncode, err.count("\n")), (1, 1), err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
