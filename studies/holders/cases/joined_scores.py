# half: seventh
# kind: autograd
# names: all_scores
# bytes: 25165824
"""For the area under a curve all scores of a validation are joined into one tensor, one number for each sample, which
is tiny; but model.eval() is not no_grad(), and the tensor has the graphs of all batches (questions on model.eval() and
memory, and on torch.cat in a loop). To change: no_grad() in validate(), which would also be faster."""
import time

import torch


def validate(model, all_scores, batch):
    model.eval()
    scores = model(batch).squeeze(1)
    model.train()
    return torch.cat((all_scores, scores))


def main():
    model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 1)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    all_scores = torch.empty(0, device="cuda")
    for _ in range(24):
        optimizer.zero_grad()
        model(torch.randn(256, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        all_scores = validate(model, all_scores, torch.randn(256, 64, device="cuda"))
        time.sleep(0.03)  # stands for the time of the kernels
    print(len(all_scores), "scores")


main()
