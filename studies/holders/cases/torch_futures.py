# half: second
# kind: c++ python
# names: answers
# bytes: 16777216
"""torch.futures.Future holds its value in C++; a list of answered futures holds them all (tensorpipe#396
has such a list). To change: drop a future after wait()."""
import torch


def main():
    answers = []
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(16):
        output = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        future = torch.futures.Future()
        future.set_result(output.detach())
        answers.append(future)
        del output


main()
