# half: sixth
# kind: c++ autograd python
# names: autocast
# or: region
# bytes: 25165824
"""Autocast is entered by hand for a whole search over heads and never left; while it is on, it keeps a copy in half
precision of each weight that it met, in C++, and the copy has the weight behind it in its graph, so no head ever goes
(anemoi-core#134 and pytorch#86136). To change: `with torch.autocast(...)` in each step, torch.clear_autocast_cache()
after a head, or cache_enabled=False."""
import torch


def try_head(batch):
    head = torch.nn.Linear(512, 512, bias=False).to("cuda")
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    head(batch).float().square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def main():
    region = torch.autocast("cuda", dtype=torch.bfloat16)
    region.__enter__()
    for _ in range(16):
        try_head(torch.randn(16, 512, device="cuda"))


main()
