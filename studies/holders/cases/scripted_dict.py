# half: third
# kind: c++ python
# names: features_by_name
# bytes: 16777216
"""A dict was made a dict of TorchScript, so that scripted functions can read it without a copy; what is put in from
Python then lives in C++, out of sight of Python's collector. To change: del features_by_name[name] after use."""
import torch


def main():
    features_by_name = torch.jit.script({"start": torch.zeros(1, device="cuda")})
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        features = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        features.square().mean().backward()
        optimizer.step()
        features_by_name[f"step {step}"] = features.detach()
        del features


main()
