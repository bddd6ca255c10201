# Allocates in every way in which Python code can run. For each allocation, prints the stack that the interpreter
# reports, innermost first: "expect ADDRESS function:file:line|..."
import atexit
import ctypes
import functools
import os
import sys
import threading

cu = ctypes.CDLL("libcudart.so.13")
cu.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
cu.cudaFree.argtypes = [ctypes.c_void_p]
lock = threading.Lock()
size = 1024  # others are not compared


def stack(frame):
    parts = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        parts.append("%s:%s:%d" % (name, os.path.basename(code.co_filename), frame.f_lineno))
        frame = frame.f_back
    return "|".join(parts)


def alloc():
    pointer = ctypes.c_void_p()
    status, text = cu.cudaMalloc(ctypes.byref(pointer), size), stack(sys._getframe())
    assert status == 0
    with lock:
        if size != 1024:
            return pointer
        sys.stdout.write("expect %x %s\n" % (pointer.value, text))
        sys.stdout.flush()
    return pointer


class Größe:
    def __init__(self):
        self.memory = alloc()

    @property
    def 大きさ(self):
        return alloc()

    def __lt__(self, other):
        alloc()
        return True

    def __enter__(self):
        return self

    def __exit__(self, *error):
        alloc()
        return True

    def __del__(self):
        alloc()


def plain():
    alloc()

    def inner():
        return [alloc() for _ in range(2)]

    inner()
    many_lines = dict(
        first=alloc(),
        second=(
            alloc()
        ),
    )
    list(map(lambda _: alloc(), [0]))
    functools.partial(alloc)()
    functools.reduce(lambda a, b: alloc(), range(3))
    sorted([Größe(), Größe()])
    Größe().大きさ
    type("Made", (), {"make": lambda self: alloc()})().make()

    class Body:
        memory = alloc()

    return many_lines


def 𝔻eep(n):
    if n == 0:
        return alloc()
    return 𝔻eep(n - 1)


def through_c(n):
    if n == 0:
        return alloc()
    return max([0], key=lambda _: through_c(n - 1) and 1)


def recursion():
    𝔻eep(200)
    through_c(15)
    𝔻eep(0)


def generators():
    def numbers():
        alloc()
        yield 1
        alloc()
        yield from more()

    def more():
        alloc()
        yield 2

    for _ in numbers():
        alloc()

    async def inside():
        alloc()

    async def outside():
        await inside()
        alloc()

    try:
        outside().send(None)
    except StopIteration:
        alloc()


def exceptions():
    try:
        raise ValueError
    except ValueError:
        alloc()
    finally:
        alloc()
    with Größe():
        raise KeyError


# Code without a file, which is freed each time, so that its address is reused.
def executed():
    for i in range(200):
        exec("\n" * (i % 50) + "alloc()", {"alloc": alloc})
    for i in range(50):
        text = "\n".join("x%d = %d" % (k, k) for k in range(60))
        lines = text.split("\n")
        lines.insert(i, "alloc()")
        exec("\n".join(lines), {"alloc": alloc})
    eval("[alloc() for _ in range(2)]", {"alloc": alloc})
    exec(compile("def f():\n  return alloc()\nf()", "ein ‹Name› voll ✓", "exec"), {"alloc": alloc})


# A module that is edited and loaded again: only the tables of lines differ. They are compared at each 16th use.
def reloaded():
    global size
    name = "reloaded.py"
    for i in range(60):
        space = {"alloc": alloc}
        exec(compile("def f():\n" + "\n" * (i % 20) + " alloc()\n", name, "exec"), space)
        for use in range(33):
            size = 1024 if use == 32 else 512
            space["f"]()
        space.clear()  # and the function: the next one has its address
    size = 1024


def threads():
    def work(n):
        for _ in range(50):
            𝔻eep(n)

    started = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def greenlets():
    import greenlet

    def ping():
        alloc()
        other.switch()
        alloc()
        other.switch()

    def pong():
        alloc()
        one.switch()
        alloc()

    one = greenlet.greenlet(ping)
    other = greenlet.greenlet(lambda: 𝔻eep(3) and pong())
    one.switch()
    alloc()


# As generated code can have: longer than what is kept of a name.
def long_name():
    global size
    size = 2048
    exec(compile("def %s():\n  alloc()\nfor i in range(20): %s()" % ("x" * 5000, "x" * 5000), "generated", "exec"),
         {"alloc": alloc})
    size = 1024


def traced():
    sys.settrace(lambda *event: None)
    plain()
    sys.settrace(None)


def at_exit():
    alloc()


# Allocations after the interpreter has begun to end: must not crash, with or without a stack.
class Late:
    def __del__(self, cu=cu, ctypes=ctypes):
        pointer = ctypes.c_void_p()
        cu.cudaMalloc(ctypes.byref(pointer), 4096)


def forked():
    child = os.fork()
    if child == 0:
        plain()
        executed()
        sys.stdout.flush()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0


# Isolated from the main interpreter: it has its own ctypes and its own stack, and prints nothing about it.
def subinterpreter():
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    other = interpreters.create()
    text = ("import ctypes\ncu = ctypes.CDLL('libcudart.so.13')\n"
            "def f():\n  p = ctypes.c_void_p()\n"
            "  cu.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(8192))\nf()\n")
    try:
        run = getattr(interpreters, "run_string", None) or interpreters.exec
        run(other, text)
    except Exception as error:
        print("sub-interpreter:", error)
    alloc()
    interpreters.destroy(other)


def daemon():
    ready = threading.Event()

    def run():
        while True:
            pointer = ctypes.c_void_p()
            cu.cudaMalloc(ctypes.byref(pointer), 512)
            cu.cudaFree(pointer)
            ready.set()

    for _ in range(3):
        threading.Thread(target=run, daemon=True).start()
    ready.wait()


atexit.register(at_exit)
late = Late()
late.self = late
for name in sys.argv[1:]:
    globals()[name]()
print("done")
