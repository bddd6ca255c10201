# half: fourth
# kind: python
# names: output models
# or: input models
# or: output keep_output
# or: output explain
# bytes: 16777216
"""To explain a model, hooks write the inputs and outputs of each layer onto the layer; the hooks are taken off
afterwards, but not what they wrote, and the models of an ensemble are explained one after another (tangermeme#84). To
change: del layer.input, layer.output when the hooks go."""
import torch


def keep_output(layer, inputs, output):
    layer.input = inputs[0].detach()
    layer.output = output.detach()


def explain(model, images):
    handles = [layer.register_forward_hook(keep_output) for layer in model]
    images.requires_grad_()
    model(images).sum().backward()
    for handle in handles:
        handle.remove()
    return images.grad.mean()


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(8, 16, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def main():
    models = []
    for _ in range(16):
        model = torch.nn.Sequential(torch.nn.Linear(16, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 1)).to("cuda")
        train(model)
        models.append(model)
        explain(model, torch.randn(128, 16, device="cuda"))


main()
