# half: sixth
# kind: python
# names: tied_params_map
# bytes: 16777216
"""A model is on the CPU, and hooks bring a block to the GPU just for its call; weights that several blocks share should
be brought once, so they are noted by their address, in a dict that all hooks have, and the hook that takes a block back
does not take the note away (accelerate#2330). A probe is trained on one block after the other. To change: pop the
entries of the block in after()."""
import torch


class OffloadHook:
    def __init__(self, device, tied_params_map):
        self.device, self.tied_params_map = device, tied_params_map

    def before(self, block, inputs):
        self.on_cpu = block.weight.data
        copies = self.tied_params_map.setdefault(self.on_cpu.data_ptr(), {})
        if self.device not in copies:
            copies[self.device] = self.on_cpu.to(self.device)
        block.weight.data = copies[self.device]

    def after(self, block, inputs, output):
        block.weight.data = self.on_cpu


def dispatch(blocks, device):
    tied_params_map = {}
    for block in blocks:
        hook = OffloadHook(device, tied_params_map)
        block.register_forward_pre_hook(hook.before)
        block.register_forward_hook(hook.after)


def main():
    blocks = torch.nn.ModuleList(torch.nn.Linear(512, 512, bias=False) for _ in range(16)).requires_grad_(False)
    dispatch(blocks, torch.device("cuda"))
    probe = torch.nn.Linear(512, 2).to("cuda")
    optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
    hidden = torch.randn(8, 512, device="cuda")
    for block in blocks:
        hidden = block(hidden)
        optimizer.zero_grad()
        probe(hidden).square().mean().backward()
        optimizer.step()


main()
