# half: seventh
# kind: python
# names: Ps mcts
# or: Ps MCTS
# or: Ps Coach
# bytes: 25165824
"""A player of a board game searches with a network and remembers what the network said of each position, by a text of
the position; the search is not begun anew for the next game, so that "it gets better", and positions do not come again
(alpha-zero-general#292, alpha-zero-general#330). To change: a new search for each game, or policies on the CPU."""
import time

import torch


class MCTS:
    def __init__(self, net):
        self.net = net
        self.Ps = {}
        self.Ns = {}

    @torch.no_grad()
    def search(self, position, planes):
        if position not in self.Ps:
            self.Ps[position] = self.net(planes).softmax(dim=1)
            self.Ns[position] = 0
        self.Ns[position] += 1
        return self.Ps[position]


class Coach:
    def __init__(self):
        self.net = torch.nn.Linear(64, 1024).to("cuda")
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.mcts = MCTS(self.net)

    def play(self, game):
        planes = torch.randn(64, 64, device="cuda")
        return planes, torch.cat([self.mcts.search(f"{game}/{move}", planes) for move in range(4)])

    def learn(self, planes, policies):
        self.optimizer.zero_grad()
        (self.net(planes).repeat(4, 1) - policies).square().mean().backward()
        self.optimizer.step()


def main():
    coach = Coach()
    for game in range(24):
        coach.learn(*coach.play(game))
        time.sleep(0.03)  # stands for the time of the kernels


main()
