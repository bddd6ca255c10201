"""Merges the files of a fleet: the same answers, whenever it is killed, and with what comes later.

usage: compact_test.py SOURCE_DIR
"""
import json
import shutil
import sys
import unittest

from map_test import Case, asked, pq, run, made_rows
from memprof._fleet import catalog, compact, names, storage, writer


class Killed(BaseException):
    pass


class Mortal(storage.Local):
    """Dies before the Nth file that it would write or remove."""

    def __init__(self, left):
        self.left = left

    def _step(self):
        if not self.left:
            raise Killed
        self.left -= 1

    def write(self, path, content):
        self._step()
        super().write(path, content)

    def put(self, source, path):
        self._step()
        super().put(source, path)

    def remove(self, path):
        self._step()
        super().remove(path)


class Compact(Case):
    def setUp(self):
        super().setUp()
        names.create(storage.Local(), str(self.fleet))

    def put(self, made):
        for name, rows in made:
            writer.write(storage.Local(), str(self.fleet), name, rows)

    def files(self, table="*"):
        return sorted(self.fleet.glob(f"{table}/date=*/job=*/*"))

    def part(self):
        return "/".join(self.files("runs")[0].parts[-3:-1])

    def counts(self):
        return len(self.files()), {path.name for path in self.files()}

    def compact(self):
        status, out, errors = run("compact", self.fleet, "--json")
        self.assertEqual(status, 0, errors)
        found = json.loads(out)
        self.assertEqual(found["after"], self.counts()[0])
        return found

    def answers(self, names_=None):
        """Slopes are sums in any order, and differ in their last digits."""
        return {name: [{key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}
                       for row in asked(name, self.fleet)] for name in names_ or catalog.names()}

    def leaking(self, count):
        made = self.ranks(count)
        made_rows.leak(made[1][1], 100 << 20, 3)
        return made

    def test_every_question_has_the_same_answer(self):
        self.put(made_rows.some_jobs())
        before = self.answers()
        self.assertTrue(all(before.values()))
        found = self.compact()
        parts = len(list(self.fleet.glob("runs/*/*")))
        self.assertEqual((found["before"] > 500, len(list(self.fleet.glob("runs/*/*/*")))), (True, parts))
        self.assertEqual(self.answers(), before)
        self.assertEqual([row["ranks"] for row in asked("leaks", self.fleet, "--job=llm-2")], [2])
        self.assertEqual(self.compact()["before"], found["after"])  # nothing more to do

    def killed_everywhere(self, begin):
        """How often a merge of what `begin` makes can be killed; and what is there then is as good."""
        questions, steps = ("leaks", "divergence"), 0
        begin()
        part, expected = self.part(), self.answers(questions)
        kept = self.folder / "kept"
        shutil.copytree(self.fleet, kept)
        while True:
            try:
                compact._part(Mortal(steps), str(self.fleet), part)
                return steps
            except Killed:
                self.assertEqual(self.answers(questions), expected, steps)
            if steps % 4 == 0:  # the next one ends what was begun
                self.compact()
                self.assertEqual(len(self.counts()[1]), 1)
                self.assertEqual(list((self.fleet / compact.MERGED).glob("*")), [])
                self.assertEqual(self.answers(questions), expected, steps)
            for path in (*self.files(), *(self.fleet / compact.MERGED).glob("*")):
                path.unlink()
            shutil.copytree(kept, self.fleet, dirs_exist_ok=True)
            steps += 1

    def test_it_may_be_killed_at_any_point(self):
        made = self.leaking(3)
        self.assertGreater(self.killed_everywhere(lambda: self.put(made)), 30)

    def test_it_may_be_killed_while_it_merges_what_is_merged(self):
        made = self.leaking(4)

        def begin():
            kept = {}
            for half in (made[:2], made[2:]):
                self.put(half)
                self.compact()
                kept.update({path: path.read_bytes() for path in self.files()})
                for path in self.files():
                    path.unlink()
            for path, content in kept.items():
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(content)
            self.assertEqual(len(self.counts()[1]), 2)

        self.assertGreater(self.killed_everywhere(begin), 20)

    def limited(self, size):
        before, compact.LARGE = compact.LARGE, size
        try:
            return self.compact()
        finally:
            compact.LARGE = before

    def test_what_was_written_again_meanwhile_stays(self):
        self.put(self.leaking(3))
        kept = self.files("runs")[0]
        files = compact._files(storage.Local(), str(self.fleet), self.part())
        content = kept.read_bytes()
        kept.unlink()
        kept.write_bytes(content)
        compact._remove(storage.Local(), str(self.fleet), files)
        self.assertEqual(self.files(), [kept])

    def test_a_list_of_somebody_else_removes_no_other_files(self):
        self.put(self.ranks(2))
        kept, others = self.files("runs")[0], self.folder / "others.parquet"
        others.write_bytes(b"important")
        lists = self.fleet / compact.MERGED
        lists.mkdir()
        for number, path in enumerate((str(others), "../others.parquet", f"../{self.fleet.name}/../others.parquet",
                                       "runs/../../others.parquet", "_schema.json", 7, None)):
            about = storage.Local().stat(str(others))[1:] if number < 4 else (0, "")
            (lists / f"{number}.json").write_text(json.dumps([[path, *about]]))
        (lists / "no.json").write_text("{")
        (lists / "none.json").write_text("[[1]]")
        (lists / "ours.json").write_text(json.dumps(
            [[str(kept.relative_to(self.fleet)), *storage.Local().stat(str(kept))[1:]]]))
        self.assertEqual(run("compact", self.fleet)[0], 0)
        self.assertEqual((others.read_bytes(), kept.exists(), list(lists.glob("*"))), (b"important", False, []))

    def test_a_process_counts_once_and_its_fullest_log_wins(self):
        made = self.leaking(4)
        self.put(made)
        self.compact()
        run_, rows = made[2]
        rows["runs"][0].update(events=10**6, log="/fuller")  # its log has grown
        made_rows.outlier(rows, 1.5)
        self.put([made[2]])
        made[3][1]["runs"][0]["events"] = 1  # a copy that was cut
        self.put([made[3]])
        for _ in range(2):
            self.assertEqual([row["log"] for row in asked("outliers", self.fleet)], ["/fuller"])
            self.assertEqual(asked("stages", self.fleet)[0]["ranks"], 4)
            self.compact()
        self.assertEqual(len(self.counts()[1]), 1)
        self.assertEqual(sorted(pq.read_table(self.files("runs")[0])["events"].to_pylist())[0], 12_000)

    def test_large_files_are_left(self):
        self.put(self.ranks(5))
        sizes = [compact._bytes(tables) for tables in compact._files(
            storage.Local(), str(self.fleet), self.part()).values()]
        self.limited(int(max(sizes) * 2.5))
        self.assertEqual(len(self.counts()[1]), 3)  # of 2, 2 and 1
        before = self.counts()
        self.limited(min(sizes))
        self.assertEqual(self.counts(), before)

    def test_files_of_other_versions(self):
        made = self.leaking(3)
        self.put(made)
        older, newer = self.files("leaks")[0], self.files("sites")[0]
        pq.write_table(pq.read_table(older, partitioning=None).drop_columns(["holder"]), older)
        self.compact()
        self.assertIsNone(asked("leaks", self.fleet)[0]["holder"])
        self.put(made)
        table = pq.read_table(newer, partitioning=None)
        pq.write_table(table.append_column("of_tomorrow", table["run"]), newer)
        before = self.counts()
        status, _, errors = run("compact", self.fleet)
        self.assertEqual((status, errors.count("\n"), "newer memprof" in errors, self.counts()[0] >= before[0]),
                         (1, 1, True, True))

    def test_faults_are_one_line(self):
        self.put(self.ranks(2))
        self.files("categories")[0].write_bytes(b"?")
        for folder, words in ((self.fleet, "cannot be merged"), (self.folder / "none", "no fleet is here")):
            status, _, errors = run("compact", folder)
            self.assertEqual((status, errors.count("\n"), words in errors), (1, 1, True), errors)
        self.assertEqual(asked("headroom", self.fleet)[0]["ranks"], 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
