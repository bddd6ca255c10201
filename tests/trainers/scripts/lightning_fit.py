"""A small model in Lightning, with the callback; "oom": its last step asks for too much."""

import json
import os
import sys

import lightning.pytorch as pl
import torch
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

from memprof.integrations.lightning import MemprofCallback

folder = sys.argv[1]
kept = []


class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(512, 512)

    def training_step(self, batch, index):
        out = self.layer(batch)
        kept.append(out.detach().clone())
        if "oom" in sys.argv and index == 9:
            torch.empty(64 << 30, dtype=torch.uint8, device="cuda")
        return out.sum()

    def validation_step(self, batch, index):
        self.layer(torch.cat([batch] * 20))

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


def loader(count):
    return torch.utils.data.DataLoader(torch.randn(count * 256, 512), batch_size=256)


callback = MemprofCallback(out=os.path.join(folder, "memory.json"))
trainer = pl.Trainer(max_epochs=1, accelerator="gpu", devices=1, log_every_n_steps=2, enable_progress_bar=False,
                     enable_checkpointing=False, num_sanity_val_steps=0, callbacks=[callback],
                     logger=[TensorBoardLogger(folder, "tb"), CSVLogger(folder, "csv", flush_logs_every_n_steps=1)])
try:
    trainer.fit(Model(), loader(12), loader(2))
finally:
    print(json.dumps({"phases": callback.profile.phases(), "leaks": callback.profile.leaks(),
                      "files": [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]}))
