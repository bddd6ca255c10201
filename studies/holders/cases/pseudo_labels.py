# half: seventh
# kind: autograd
# names: pseudo_labels
# bytes: 25165824
"""Samples without a label get one from the network itself, and it is kept by sample until the next round; it is made by
an ordinary call of the network, so each label, a row of sixteen numbers, has the graph of its batch (forum questions on
pseudo-labels and memory that grows over the first epoch). To change: no_grad() in label_batch."""
import time

import torch


def label_batch(model, pseudo_labels, indices, images):
    for index, probabilities in zip(indices, model(images).softmax(dim=1)):
        pseudo_labels[index] = probabilities


def main():
    model = torch.nn.Sequential(torch.nn.Linear(64, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 16)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    pseudo_labels = {}
    for step in range(24):
        optimizer.zero_grad()
        model(torch.randn(64, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        indices = range(64 * step, 64 * (step + 1))
        label_batch(model, pseudo_labels, indices, torch.randn(64, 64, device="cuda"))
        time.sleep(0.03)  # stands for the time of the kernels
    print(len(pseudo_labels), "labels")


main()
