"""Values that programs read back from the device and depend on: no hang, no huge allocations."""
import torch

x = torch.arange(4096, dtype=torch.float32).cuda()
assert x[:16].contiguous().shape == (16,)
mask = x > 100
assert mask.nonzero().shape[0] <= 4096
assert x[mask].numel() <= 4096
assert torch.unique(torch.randint(0, 7, (4096,), device="cuda")).numel() <= 4096
assert x.sum().item() == 0 and not torch.isnan(x).any()
assert torch.cuda.FloatTensor(8).tolist() is not None
torch.repeat_interleave(torch.randint(0, 4, (16,), device="cuda"))
torch.bincount(torch.randint(0, 100, (4096,), device="cuda"), minlength=100)
torch.linalg.inv(torch.randn(16, 16, device="cuda"))
torch.linalg.svd(torch.randn(16, 16, device="cuda"))
torch.linalg.eigh(torch.randn(16, 16, device="cuda"))
torch.linalg.qr(torch.randn(16, 8, device="cuda"))
torch.fft.rfft2(torch.randn(4, 64, 64, device="cuda"))
torch.multinomial(torch.rand(32, device="cuda"), 4)
torch.topk(torch.randn(1000, device="cuda"), 5)
torch.sort(torch.randn(1000, device="cuda"))
torch.sparse.mm(torch.eye(32, device="cuda").to_sparse_csr(), torch.randn(32, 8, device="cuda"))
a = torch.randn(64, 64, device="cuda")
a.to("cpu"), a.half().cpu(), a.t().contiguous().cpu()
assert str(torch.tensor([1.0, 2.0]).cuda())
if torch.cuda.device_count() > 1:
    a.to("cuda:1")
