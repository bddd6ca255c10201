"""What is read from another process, with the Python that runs this as the other process.

usage: remote_test.py BUILD SOURCE"""
import os
import re
import sys
import unittest

from guests import SOURCE, Guest, reach

# Not seen from outside.
UNSEEN = re.compile(r"^garbage|^context variable|by_hostile_name")


def without_lines(expected):
    """Lines of assignments are not known from outside."""
    return re.sub(r", assigned at guest\.py:N|(?<=, guest\.py):N(?=\))", "", expected)


class RemoteTest(unittest.TestCase):
    def test_names_every_kind_of_variable(self):
        with Guest("known_guest.py", os.path.join(SOURCE, "tests", "python", "holders")) as guest:
            found = {}
            for line in reach(guest.pid, "Target"):
                kind, _, rest = line.partition(" ")
                if kind == "target":
                    address, path, _ = rest.split("\t", 2)
                    found[address] = re.sub(r"(local.*guest\.py):\d+", r"\1:N", path)
            expected = dict(line.split(" ", 1) for line in guest.finish())
        self.assertGreater(len(expected), 60)
        for address, text in expected.items():
            if not UNSEEN.search(text):
                self.assertEqual(found.get(address), without_lines(text))

    def test_chains_are_the_objects_between(self):
        with Guest("known_guest.py", os.path.join(SOURCE, "tests", "python", "holders")) as guest:
            chains = {line.split("\t")[1]: line.split("\t")[3:] for line in reach(guest.pid, "Target") if "\t" in line}
            guest.finish()
        self.assertEqual(chains["list `metrics.predictions` of `Metrics` (global `metrics`, guest.py)"],
                         ["Metrics `metrics`", "list `metrics.predictions`"])
        self.assertEqual(chains["`metrics.inner['a'][0]['loss']` of `Metrics` (global `metrics`, guest.py)"],
                         ["Metrics `metrics`", "dict `metrics.inner`", "list `metrics.inner['a']`",
                          "dict `metrics.inner['a'][…]`"])
        self.assertEqual(chains["`plain` (global `plain`, guest.py)"], [])

    def test_a_long_list_has_a_short_name(self):
        with Guest("list_guest.py", "20000") as guest:
            paths = [line.split("\t")[1] for line in reach(guest.pid, "Marker") if line.startswith("target")]
        self.assertEqual(len(paths), 20000)
        self.assertEqual(paths[1], "`latest.previous.output` of `Record` (global `latest`, list_guest.py)")
        middle = 11 * ".previous" + "…" + 5 * ".previous"
        self.assertEqual(paths[-1], "`latest" + middle + ".output` of `Record` (global `latest`, list_guest.py)")
        self.assertLess(len(set(paths)), 30)

    def test_the_agents_variables_are_not_the_users(self):
        with Guest("agent_guest.py") as guest:
            paths = [line.split("\t")[1] for line in reach(guest.pid, "Marker") if line.startswith("target")]
        self.assertEqual(paths, ["`farther[0]` (global `farther`, train.py)"])

    def test_the_callers_variable_comes_before_the_argument_of_the_called(self):
        with Guest("caller_guest.py") as guest:
            paths = [line.split("\t")[1] for line in reach(guest.pid, "Marker") if line.startswith("target")]
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
