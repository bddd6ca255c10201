# half: third
# kind: autograd
# names: step_history state
# or: step_history RelaxState
# bytes: 25165824
"""A relaxation of atoms keeps the last steps in one tensor, made longer by cat(), as L-BFGS does; forces come from a
model by a derivative that can be derived again, and the tensor has the graphs of them all (torch-sim#559). To change:
detach the step before it goes into the history."""
import dataclasses

import torch


@dataclasses.dataclass
class RelaxState:
    positions: torch.Tensor
    step_history: torch.Tensor


class ForceField(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.energy = torch.nn.Sequential(torch.nn.Linear(3, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 1))

    def forces(self, positions):
        return -torch.autograd.grad(self.energy(positions).sum(), positions, create_graph=True)[0]


def relax(model, state, optimizer):
    positions = state.positions.detach().requires_grad_()
    forces = model.forces(positions)
    step = 0.01 * forces
    state.positions = (positions + step).detach()
    state.step_history = torch.cat([state.step_history, step.unsqueeze(0)])[-100:]
    optimizer.zero_grad()
    model.energy(state.positions[:8]).mean().backward()
    optimizer.step()


model = ForceField().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
atoms = torch.randn(128, 3, device="cuda")
state = RelaxState(atoms, torch.zeros(1, 128, 3, device="cuda"))
for number in range(16):
    relax(model, state, optimizer)
