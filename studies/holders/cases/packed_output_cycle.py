# half: fourth
# kind: cycle autograd c++
# names: Packed
# or: pack
# bytes: 16777216
"""A hook on saved tensors packs them as they are; the exponential saves its own output, so the output's node holds the
packed object, this the output, and the output its node, partly in C++ (pytorch#189025). backward() would break it, and
validation has none. To change: tensor.detach() in pack, or no_grad() in validation."""
import torch


class Packed:
    def __init__(self, tensor):
        self.tensor = tensor


class Packer:
    def __init__(self):
        self.bytes = 0

    def pack(self, tensor):
        self.bytes += tensor.nbytes
        return Packed(tensor)

    def unpack(self, packed):
        return packed.tensor

    def watch(self):
        return torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 1024)

    def forward(self, images):
        return torch.exp(self.layer(images))


def validate(model):
    return model(torch.randn(256, 64, device="cuda")).mean().detach()


def train(model, optimizer):
    with Packer().watch():
        for _ in range(16):
            optimizer.zero_grad()
            model(torch.randn(8, 64, device="cuda")).mean().backward()
            optimizer.step()
            validate(model)


model = Net().to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
