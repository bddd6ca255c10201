"""CUDA graphs: a captured forward pass, a whole captured step, and make_graphed_callables."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128)).cuda()
optimizer = torch.optim.Adam(model.parameters(), capturable=True)
static = torch.randn(32, 128, device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = (model(static) - static).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = step()
for _ in range(5):
    static.copy_(torch.randn(32, 128))
    graph.replay()
torch.cuda.synchronize()
forward = torch.cuda.make_graphed_callables(nn.Linear(128, 64).cuda(),
                                            (torch.randn(8, 128, device="cuda"),))
for _ in range(3):
    forward(torch.randn(8, 128, device="cuda")).sum().backward()
graph.reset()
