"""A training that keeps a list of what it computed, and allocates on a second thread too. It says where it is, and what
PyTorch counts at that moment; it stands still until a line comes, so that nothing changes between the two."""
import sys
import threading
import time

import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8)).cuda()
optimizer = torch.optim.Adam(model.parameters())
history = []
running = threading.Event()
running.set()
still = threading.Event()
ends = threading.Event()


def beside():
    """Allocates and frees, while the main thread allows it."""
    kept = []
    while not ends.is_set():
        if not running.is_set():
            still.set()
            running.wait()
            still.clear()
        time.sleep(0.0002)
        kept.append(torch.empty(512 * (1 + len(kept) % 7), dtype=torch.uint8, device="cuda"))
        if len(kept) > 50:
            del kept[::3]


def train_step():
    loss = model(torch.randn(16, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(model(torch.randn(16, 64, device="cuda")).detach())


other = threading.Thread(target=beside)
other.start()
if len(sys.argv) > 1:
    torch.cuda.memory._record_memory_history()
step = 0
for line in sys.stdin:
    if line.startswith("end"):
        break
    for _ in range(int(line)):
        train_step()
        step += 1
    running.clear()
    still.wait()
    print("said", step, time.monotonic_ns(), torch.cuda.memory_allocated(), torch.cuda.memory_reserved(), flush=True)
    running.set()
ends.set()
other.join()
print("ended", len(history), flush=True)
