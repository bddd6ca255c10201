"""PyTorch's own memory history and its snapshot."""
import os
import pickle
import sys
import tempfile

import torch
from torch import nn

torch.cuda.memory._record_memory_history(max_entries=100000)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    x = torch.randn(16, 64, device="cuda")
    loss = (model(x) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(tempfile.mkdtemp(), "snapshot.pickle")
torch.cuda.memory._dump_snapshot(path)
torch.cuda.memory._record_memory_history(enabled=None)
with open(path, "rb") as file:
    snapshot = pickle.load(file)
active = sum(block["size"] for segment in snapshot["segments"] for block in segment["blocks"]
             if block["state"] == "active_allocated")
assert active == torch.cuda.memory_allocated(), active
trace = snapshot["device_traces"][0]
assert any(frame["filename"] == __file__ for entry in trace for frame in entry["frames"])
print(len(trace), "events,", len(snapshot["segments"]), "segments")
