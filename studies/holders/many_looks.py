"""Looks during a training, by itself and because others ask: they change neither its results, nor its memory, nor the
count of any reference, and leave nothing for the collector.

usage: scripts/torch-sim python studies/holders/many_looks.py BUILD [LOOKS]

The values are computed on the CPU, where they are real; memory is that of the (stand-in) GPU. Prints what was the
same; the status is 1 if something was not.
"""

import gc
import json
import os
import socket
import sys
import threading
import time

import torch

BUILD = os.path.abspath(sys.argv[1])
LOOKS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
sys.path.insert(0, os.path.join(BUILD, "lib", "memprof", "python"))
from memprof._holders.answer import Server  # noqa: E402
from memprof._holders.finder import Finder  # noqa: E402
from memprof._holders.look import Library  # noqa: E402


def train(steps, look, end=lambda: None):
    """`end()` is called before anything is counted. Returns the weights, the peak of the GPU, and counts of references after the training."""
    torch.manual_seed(1)
    torch.cuda.reset_peak_memory_stats()
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
    twin = torch.nn.Linear(64, 64).cuda()
    optimizer = torch.optim.Adam([*model.parameters(), *twin.parameters()])
    history = []
    for _ in range(steps):
        loss = model(torch.randn(8, 16)).square().mean()
        on_gpu = twin(torch.randn(8, 64, device="cuda")).square().mean()
        history.append(on_gpu.detach())
        look()
        optimizer.zero_grad()
        (loss + on_gpu.cpu()).backward()
        look()
        optimizer.step()
    end()
    gc.collect()
    watched = [model, twin, optimizer, history, optimizer.state, *model.parameters(), *twin.parameters(),
               *(value for state in optimizer.state.values() for value in state.values())]
    counts = [sys.getrefcount(thing) for thing in watched]
    weights = [parameter.detach().clone() for parameter in model.parameters()]
    return weights, torch.cuda.max_memory_allocated(), counts, len(gc.get_objects())


class Asker(threading.Thread):
    """Asks the process, again and again."""

    def __init__(self):
        super().__init__()
        self.stop, self.answers = threading.Event(), []  # of each: what failed, or whether something was left out

    def run(self):
        while not self.stop.is_set():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.connect("\0memprof-holders-%d" % os.getpid())
                answer = json.loads(b"".join(iter(lambda: connection.recv(1 << 16), b"")))
                self.answers.append(answer.get("error", "limits" in answer))


def asked_while_training(steps):
    asker = Asker()

    def end():
        asker.stop.set()
        while asker.is_alive():  # executes Python, so that this thread can answer
            time.sleep(0.01)
    asker.start()
    return train(steps, lambda: None, end), asker


def compare(what, before, after):
    """Prints what is the same; returns whether all is."""
    same = {"weights": all(torch.equal(a, b) for a, b in zip(before[0], after[0])),
            "peak of the GPU": before[1] == after[1], "counts of references": before[2] == after[2],
            "number of objects": abs(before[3] - after[3]) <= 80}
    print("%s; unchanged: %s" % (what, ", ".join(name for name, is_same in same.items() if is_same)))
    changed = [name for name, is_same in same.items() if not is_same]
    if changed:
        print("CHANGED: " + ", ".join(changed), [(a, b) for a, b in zip(before[1:], after[1:]) if a != b])
    return not changed


def main():
    library = Library(os.path.join(BUILD, "lib", "memprof", "libmemprof_holders.so"))
    finder = Finder(library, torch)
    times = []

    def look():
        begin = time.process_time()
        finder.find()
        times.append(time.process_time() - begin)

    train(2, lambda: None)  # what PyTorch creates at its first use
    train(2, look)
    before = train(LOOKS // 2, lambda: None)
    times.clear()
    after = train(LOOKS // 2, look)
    times.sort()
    fine = compare("%d looks at %d objects, median %.0f ms of CPU time" % (
        len(times), finder.examined, times[len(times) // 2] * 1e3), before, after)

    gc.disable()
    finder.find()
    left = [type(thing).__name__ for thing in gc.get_objects() if str(type(thing).__module__).startswith("memprof._holders")]
    gc.enable()
    print("objects of ours after a look: " + ", ".join(sorted(left)))
    fine = fine and not {"_Round", "Namer", "Look"} & set(left)

    Server(library, torch)
    asked_while_training(2)
    before = train(LOOKS // 2, lambda: None)
    after, asker = asked_while_training(LOOKS // 2)
    wrong = [answer for answer in asker.answers if type(answer) is str]
    limited = asker.answers.count(True)
    fine = compare("%d questions, %d of them without graphs" % (len(asker.answers), limited), before, after) and fine
    print(wrong[:3] if wrong else "all were answered")
    return 0 if fine and not wrong else 1


sys.exit(main())
