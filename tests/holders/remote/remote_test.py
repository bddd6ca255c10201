"""What is read from another process, with the Python that runs this as the other process.

usage: remote_test.py BUILD SOURCE"""
import os
import re
import sys
import unittest

from guests import BUILD, SOURCE, Guest, reach

# Not seen from outside.
UNSEEN = re.compile(r"^garbage|^context variable|by_hostile_name")


def without_lines(expected):
    """Lines of assignments are not known from outside."""
    return re.sub(r", assigned at guest\.py:N|(?<=, guest\.py):N(?=\))", "", expected)


def targets(lines):
    """{address: [path, what lies between]}"""
    found = {}
    for line in lines:
        if line.startswith("target "):
            address, path, _, *chain = line[len("target "):].split("\t")
            found[address] = [path] + chain
    return found


class RemoteTest(unittest.TestCase):
    def test_names_every_kind_of_variable(self):
        with Guest("known_guest.py", os.path.join(SOURCE, "tests", "python", "holders")) as guest:
            found = targets(reach(guest.pid, "Target"))
            expected = dict(line.split(" ", 1) for line in guest.finish())
        self.assertGreater(len(expected), 60)
        for address, text in expected.items():
            if not UNSEEN.search(text):
                told = found.get(address, ["nothing"])[0]
                self.assertEqual(re.sub(r"(local.*guest\.py):\d+", r"\1:N", told), without_lines(text))

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "lib", "memprof", "libmemprof_holders.so")), "no agent")
    def test_says_what_the_agent_says(self):
        with Guest("both_guest.py", BUILD) as guest:
            found = targets(reach(guest.pid, "Target"))
            lines = guest.finish()
        self.assertGreater(len(lines), 50)
        for line in lines:
            address, path, *chain = line.split("\t")
            path = re.sub(r", assigned at variables\.py:\d+|(?<=, variables\.py):\d+(?=\))", "", path)
            self.assertEqual(found.get(address), [path] + chain[:-1])  # the last is the target itself

    def test_a_long_list_has_a_short_name(self):
        with Guest("list_guest.py", "20000") as guest:
            paths = [path for path, *_ in targets(reach(guest.pid, "Marker")).values()]
        self.assertEqual(len(paths), 20000)
        self.assertEqual(paths[1], "`latest.previous.output` of `Record` (global `latest`, list_guest.py)")
        middle = 11 * ".previous" + "…" + 5 * ".previous"
        self.assertEqual(paths[-1], "`latest" + middle + ".output` of `Record` (global `latest`, list_guest.py)")
        self.assertLess(len(set(paths)), 30)

    def test_the_agents_variables_are_not_the_users(self):
        with Guest("agent_guest.py") as guest:
            paths = [path for path, *_ in targets(reach(guest.pid, "Marker")).values()]
        self.assertEqual(paths, ["`farther[0]` (global `farther`, train.py)"])

    def test_the_callers_variable_comes_before_the_argument_of_the_called(self):
        with Guest("caller_guest.py") as guest:
            paths = [path for path, *_ in targets(reach(guest.pid, "Marker")).values()]
        self.assertEqual(paths, ["`variable[0]` (local `variable` of caller(), at caller_guest.py:18)"])

    def test_reaches_what_gc_reaches(self):
        for seed in range(2):
            with Guest("random_guest.py", str(seed)) as guest:
                reached = {line.split()[1] for line in reach(guest.pid, "Marker") if line.startswith("object")}
                lines = [line.split() for line in guest.finish()]
            reachable = {address for kind, address in lines if kind == "reachable"}
            unreachable = {address for kind, address in lines if kind == "unreachable"}
            self.assertGreater(len(reachable), 500)
            self.assertGreater(len(unreachable), 20)
            self.assertEqual(reachable - reached, set(), "seed %d" % seed)
            self.assertEqual(unreachable & reached, set(), "seed %d" % seed)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
