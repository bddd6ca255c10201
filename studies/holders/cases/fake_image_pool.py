# half: third
# kind: autograd
# names: images pool
# or: images ImagePool
# bytes: 16777216
"""A pool shows the discriminator older fakes as well; the fakes go into it with the graph of the generator, which is
trained only after many steps of the discriminator (questions on detach() in GANs). To change: put fake.detach() into
the pool."""
import torch


class ImagePool:
    def __init__(self, size):
        self.size = size
        self.images = []

    def query(self, fake):
        self.images.append(fake)
        if len(self.images) > self.size:
            self.images.pop(0)
        return self.images[len(self.images) // 2].detach()


class Gan:
    def __init__(self):
        self.generator = torch.nn.Sequential(torch.nn.Linear(32, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 64))
        self.discriminator = torch.nn.Linear(64, 1)
        self.generator.to("cuda"), self.discriminator.to("cuda")
        self.optimizer = torch.optim.SGD(self.discriminator.parameters(), lr=0.1)
        self.pool = ImagePool(size=50)

    def train_discriminator(self):
        fake = self.generator(torch.randn(256, 32, device="cuda"))
        real = torch.randn(256, 64, device="cuda")
        loss = self.discriminator(self.pool.query(fake)).mean() - self.discriminator(real).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


gan = Gan()
for step in range(16):
    gan.train_discriminator()
