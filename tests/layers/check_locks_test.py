"""What check_locks.py reports, and what it accepts."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_locks

HEADER = "libmemprof/src/base/locks.h"


def names(text, path="libmemprof/src/log/writer.cc"):
    return [name for _, name in check_locks.unlisted(path, text)]


class CheckLocks(unittest.TestCase):
    def test_finds_locks_that_live_as_long_as_the_process(self):
        for declaration in ("Mutex<LockRank::kRing> g_lock;", "static Mutex<LockRank::kRing> lock;",
                            "std::mutex g_lock;", "pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;",
                            "constinit std::shared_mutex g_lock;", "std::once_flag once;", "Mutex<kAny> locks[3];"):
            self.assertEqual(len(names(declaration)), 1, declaration)

    def test_leaves_members_and_comments_alone(self):
        self.assertEqual(names("  Mutex<LockRank::kRing> mutex_;\n  mutable Mutex<LockRank::kVmm> other_mutex_;\n"
                               "  // std::mutex g_lock;\n  LockGuard lock(mutex_);\n"), [])

    def test_knows_the_registry_and_only_there(self):
        registry = "struct alignas(4096) ProcessLocks {\n  Mutex<LockRank::kVmm> names;\n};\n"
        self.assertEqual(names(registry, HEADER), [])
        self.assertEqual(check_locks.unlisted(HEADER, registry + "Mutex<LockRank::kVmm> g_more;"), [(4, "g_more")])
        self.assertEqual(names(registry), ["names"])


if __name__ == "__main__":
    unittest.main()
