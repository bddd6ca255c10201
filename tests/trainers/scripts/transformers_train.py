"""A small GPT-2 in Transformers' Trainer, watched; "oom": its fifth step asks for too much."""

import json
import os
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

from memprof.integrations.transformers import watch

folder = sys.argv[1]
os.environ["TENSORBOARD_LOGGING_DIR"] = os.path.join(folder, "tb")
calls = []


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        ids = torch.arange(64)
        return {"input_ids": ids, "labels": ids}


class Small(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **more):
        calls.append(1)
        if "oom" in sys.argv and len(calls) == 5:
            torch.empty(64 << 30, dtype=torch.uint8, device="cuda")
        return super().compute_loss(model, inputs, return_outputs=return_outputs, **more)


model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_head=4, n_embd=128, vocab_size=500, n_positions=64, bos_token_id=1,
                                   eos_token_id=1))
arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=4, num_train_epochs=1, logging_steps=2,
                              report_to=["tensorboard"], save_strategy="no", disable_tqdm=True)
trainer = Small(model=model, args=arguments, train_dataset=Texts())
profile = watch(trainer)
trainer.train()
print(json.dumps({"phases": profile.phases(), "logs": trainer.state.log_history, "steps": profile._look()["steps"],
                  "text": str(profile)}))
