# half: seventh
# kind: python
# names: features encoder
# or: features FeatureExtractor
# or: features extractor
# bytes: 25165824
"""Each reconstruction of an image makes an extractor, which hooks the layers of the encoder and lists their outputs;
the extractor goes out of scope, but its hooks do not, and so the encoder keeps all extractors with what they list
(bdpy#72). To change: remove the hooks at the end of reconstruct()."""
import collections
import time

import torch


class FeatureExtractor:
    def __init__(self, encoder, layers):
        self.encoder = encoder
        self.features = collections.defaultdict(list)
        for name in layers:
            encoder.get_submodule(name).register_forward_hook(self.hook_for(name))

    def hook_for(self, name):
        def hook(module, inputs, output):
            self.features[name].append(output.detach())
        return hook

    def run(self, image):
        self.encoder(image)
        return {name: outputs[-1] for name, outputs in self.features.items()}


def reconstruct(encoder, generator, optimizer, target):
    extractor = FeatureExtractor(encoder, ["body"])
    wanted = extractor.run(target)["body"]
    optimizer.zero_grad()
    (generator(target) - wanted.mean(dim=1, keepdim=True)).square().mean().backward()
    optimizer.step()


def main():
    encoder = torch.nn.Sequential(collections.OrderedDict(body=torch.nn.Linear(64, 1024))).to("cuda")
    generator = torch.nn.Linear(64, 64).to("cuda")
    optimizer = torch.optim.Adam(generator.parameters())
    for _ in range(24):
        reconstruct(encoder, generator, optimizer, torch.randn(256, 64, device="cuda"))
        time.sleep(0.03)  # stands for the time of the kernels


main()
