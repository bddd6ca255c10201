"""Networks of many kinds, each trained in its usual way."""
import torch
import torch.nn.functional as F
from torch import nn

from common import DEV, program, tell


def loop(model, make, loss_of, optimizer, steps=8):
    for _ in range(steps):
        loss = loss_of(model, *make())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@program
def perceptron():
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)).to(DEV)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loop(model, lambda: (torch.randn(64, 512, device=DEV), torch.randint(0, 10, (64,), device=DEV)),
         lambda m, x, y: F.cross_entropy(m(x), y), opt)
    tell(model, opt)


@program
def convolutions():
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
                          nn.Flatten(), nn.Linear(2048, 512), nn.Linear(512, 100)).to(DEV)
    opt = torch.optim.AdamW(model.parameters())
    loop(model, lambda: (torch.randn(16, 3, 32, 32, device=DEV), torch.randint(0, 100, (16,), device=DEV)),
         lambda m, x, y: F.cross_entropy(m(x), y), opt)
    tell(model, opt)


class Tagger(nn.Module):
    def __init__(self, kind, bidirectional=False):
        super().__init__()
        self.embed = nn.Embedding(5000, 128)
        self.recur = kind(128, 256, num_layers=2, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(256 * (1 + bidirectional), 50)

    def forward(self, words):
        return self.head(self.recur(self.embed(words))[0])


def train_tagger(kind, **options):
    model = Tagger(kind, **options).to(DEV)
    opt = torch.optim.Adam(model.parameters())
    loop(model, lambda: (torch.randint(0, 5000, (16, 40), device=DEV), torch.randint(0, 50, (16, 40), device=DEV)),
         lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1), y.flatten()), opt)
    tell(model, opt)


@program
def long_short_term():
    train_tagger(nn.LSTM)


@program
def gated_both_ways():
    train_tagger(nn.GRU, bidirectional=True)


@program
def plain_recurrence():
    train_tagger(nn.RNN)


class Decoder(nn.Module):
    def __init__(self, width=256, layers=3, tied=False):
        super().__init__()
        self.words, self.places = nn.Embedding(4000, width), nn.Embedding(64, width)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True) for _ in range(layers))
        self.head = nn.Linear(width, 4000, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, words):
        h = self.words(words) + self.places(torch.arange(words.shape[1], device=words.device))
        for layer in self.layers:
            h = layer(h)
        return self.head(h)


def next_word(model, words):
    return F.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())


@program
def language_model():
    model = Decoder().to(DEV)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    loop(model, lambda: (torch.randint(0, 4000, (8, 64), device=DEV),), next_word, opt)
    tell(model, opt)


@program
def tied_language_model():
    model = Decoder(tied=True).to(DEV)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=False)
    loop(model, lambda: (torch.randint(0, 4000, (8, 64), device=DEV),), next_word, opt)
    tell(model, opt)


@program
def large_table():
    table, head = nn.Embedding(100_000, 64, device=DEV), nn.Linear(64, 2, device=DEV)
    model = nn.ModuleList([table, head])
    opt = torch.optim.Adagrad(model.parameters())
    loop(model, lambda: (torch.randint(0, 100_000, (256, 8), device=DEV), torch.randint(0, 2, (256,), device=DEV)),
         lambda m, x, y: F.cross_entropy(m[1](m[0](x).mean(1)), y), opt)
    tell(model, opt)


@program
def bags_of_words():
    table, head = nn.EmbeddingBag(50_000, 64, mode="sum", device=DEV), nn.Linear(64, 2, device=DEV)
    opt = torch.optim.NAdam([*table.parameters(), *head.parameters()])
    for _ in range(8):
        x, y = torch.randint(0, 50_000, (256, 8), device=DEV), torch.randint(0, 2, (256,), device=DEV)
        loss = F.cross_entropy(head(table(x)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    tell([table, head], opt, inputs=[x, y])


@program
def autoencoder():
    encode = nn.Sequential(nn.Linear(784, 512), nn.GELU(), nn.Linear(512, 64)).to(DEV)
    decode = nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 784)).to(DEV)
    opt = torch.optim.RMSprop([*encode.parameters(), *decode.parameters()], momentum=0.5)
    for _ in range(8):
        x = torch.rand(128, 784, device=DEV)
        loss = F.mse_loss(decode(encode(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    tell([encode, decode], opt, inputs=[x])


@program
def adversaries():
    make = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 1024), nn.Tanh()).to(DEV)
    judge = nn.Sequential(nn.Linear(1024, 512), nn.LeakyReLU(0.2), nn.Linear(512, 1)).to(DEV)
    opts = [torch.optim.Adam(net.parameters(), betas=(0.5, 0.999)) for net in (make, judge)]
    for _ in range(8):
        real = torch.randn(64, 1024, device=DEV)
        fake = make(torch.randn(64, 128, device=DEV))
        opts[1].zero_grad()
        (F.softplus(-judge(real)).mean() + F.softplus(judge(fake.detach())).mean()).backward()
        opts[1].step()
        opts[0].zero_grad()
        F.softplus(-judge(fake)).mean().backward()
        opts[0].step()
    tell([make, judge], opts, inputs=[real])


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 64, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(64, 64, 3, padding=1)
        self.up = nn.ConvTranspose2d(128, 3, 4, stride=2, padding=1)
        self.when = nn.Linear(1, 64)
        self.register_buffer("betas", torch.linspace(1e-4, 0.02, 1000))

    def forward(self, x, t):
        h = F.silu(self.down(x) + self.when(t[:, None].float())[:, :, None, None])
        return self.up(torch.cat([h, F.silu(self.middle(h))], 1))


@program
def diffusion():
    model = Denoiser().to(DEV)
    opt = torch.optim.AdamW(model.parameters())
    for _ in range(8):
        x, t = torch.randn(8, 3, 64, 64, device=DEV), torch.randint(0, 1000, (8,), device=DEV)
        noise = torch.randn_like(x)
        keep = (1 - model.betas).cumprod(0)[t][:, None, None, None]
        loss = F.mse_loss(model(keep.sqrt() * x + (1 - keep).sqrt() * noise, t), noise)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
    tell(model, opt, inputs=[x, t, noise])


@program
def graph_network():
    first, second = nn.Linear(256, 512, device=DEV), nn.Linear(512, 40, device=DEV)
    edges = torch.randint(0, 20_000, (2, 100_000), device=DEV)
    features, labels = torch.randn(20_000, 256, device=DEV), torch.randint(0, 40, (20_000,), device=DEV)
    opt = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)

    def spread(h):
        return torch.zeros_like(h).index_add_(0, edges[1], h[edges[0]])

    for _ in range(8):
        loss = F.cross_entropy(second(spread(F.relu(first(spread(features))))), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
    tell([first, second], opt, inputs=[edges, features, labels])


class Adapter(nn.Module):
    def __init__(self, base, rank=16):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features, device=DEV) * 0.01)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank, device=DEV))

    def forward(self, x):
        return self.base(x) + x @ self.a.t() @ self.b.t()


@program
def low_rank_adapters():
    model = nn.Sequential(*[Adapter(nn.Linear(1024, 1024, device=DEV)) for _ in range(6)])
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    loop(model, lambda: (torch.randn(32, 1024, device=DEV),), lambda m, x: m(x).square().mean(), opt)
    tell(model, opt)


@program
def frozen_backbone():
    backbone = nn.Sequential(nn.Conv2d(3, 128, 3), nn.ReLU(), nn.Conv2d(128, 256, 3), nn.AdaptiveAvgPool2d(1)).to(DEV)
    backbone.eval().requires_grad_(False)
    head = nn.Sequential(nn.Flatten(), nn.Linear(256, 1000)).to(DEV)
    opt = torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
    for _ in range(8):
        x, y = torch.randn(16, 3, 32, 32, device=DEV), torch.randint(0, 1000, (16,), device=DEV)
        with torch.no_grad():
            f = backbone(x)
        loss = F.cross_entropy(head(f), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    tell([backbone, head], opt, inputs=[x, y])


@program
def inference_only():
    model = Decoder(layers=4).to(DEV).eval()
    with torch.inference_mode():
        for _ in range(20):
            model(torch.randint(0, 4000, (4, 64), device=DEV)).argmax(-1)
    tell(model)


@program
def mixture_of_experts():
    gate, experts = nn.Linear(256, 4, device=DEV), nn.ModuleList(
        nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)) for _ in range(4)).to(DEV)
    opt = torch.optim.AdamW([*gate.parameters(), *experts.parameters()])
    for _ in range(8):
        x = torch.randn(512, 256, device=DEV)
        weight, which = gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(experts):
            rows = (which == i).nonzero().squeeze(1)
            out = out.index_add(0, rows, expert(x[rows]) * weight[rows, None])
        opt.zero_grad()
        (out - x).square().mean().backward()
        opt.step()
    tell([gate, experts], opt, inputs=[x])
