# half: second
# kind: python c++
# names: imported
# bytes: 16777216
"""Results go through DLPack, as if from another library: the imported tensor has the memory of the first one, by a
deleter in C++ (cudf#2400 is a leak of this kind). To change: drop `imported` when it was used."""
import torch
import torch.utils.dlpack

imported = {}


def exchange(step, tensor):
    imported[step] = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(tensor))
    return imported[step].shape


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    exchange(step, output.detach())
