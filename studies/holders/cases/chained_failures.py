# half: second
# kind: python
# names: last_failure
# bytes: 16777216
"""Every failure of a step is raised "from" the one before, to tell the whole story; the chain keeps the frames of all
of them, with their tensors (pytorch#26188 has the simple form). To change: keep the text of the last one."""
import torch

model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


class StepFailed(Exception):
    pass


def run_step(number, cause):
    logits = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    logits.square().mean().backward()
    optimizer.step()
    raise StepFailed(f"step {number}: no metric") from cause


last_failure = None
for number in range(16):
    try:
        run_step(number, last_failure)
    except StepFailed as failure:
        last_failure = failure
