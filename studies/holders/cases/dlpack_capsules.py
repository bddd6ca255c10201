# half: first
# kind: c++ python
# names: capsules
# bytes: 16777216
"""DLPack capsules for another library wait in a list and are never taken; each has a tensor that only C++ sees
(pytorch#9261, iree#20849). To change: make the capsule when it is consumed."""
import torch
import torch.utils.dlpack


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    capsules = []
    for _ in range(16):
        output = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        capsules.append(torch.utils.dlpack.to_dlpack(output.detach()))


main()
