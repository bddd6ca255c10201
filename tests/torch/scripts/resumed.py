"""An optimizer goes on from a checkpoint whose tensors, with the number of steps, were loaded to the device."""
import io

import torch

model = torch.nn.Linear(64, 64).cuda()
for options in ({}, {"foreach": False}):
    saved = io.BytesIO()
    for turn in range(2):
        optimizer = torch.optim.AdamW(model.parameters(), **options)
        if turn == 1:
            saved.seek(0)
            optimizer.load_state_dict(torch.load(saved, map_location="cuda"))
            assert optimizer.state[model.weight]["step"].is_cuda
            assert optimizer.state[model.weight]["step"].item() == 2
        for _ in range(2):
            model(torch.randn(8, 64, device="cuda")).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        torch.save(optimizer.state_dict(), saved)
