"""Fine-tunes a small GPT-2 with the Trainer of Transformers; with "leak" as argument a list keeps the
output of each forward pass. Prints PyTorch's peak."""
import sys
import tempfile

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

history = []


class Texts(Dataset):
    def __len__(self):
        return 192

    def __getitem__(self, index):
        ids = torch.randint(0, 1000, (64,))
        return {"input_ids": ids, "labels": ids}


class Watched(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **more):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **more)
        if "leak" in sys.argv:
            history.append(outputs.logits)
        return (loss, outputs) if return_outputs else loss


def main():
    model = GPT2LMHeadModel(GPT2Config(n_layer=3, n_head=4, n_embd=128, vocab_size=1000, n_positions=64,
                                       bos_token_id=1, eos_token_id=1))
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=4, num_train_epochs=1,
                                      report_to=[], save_strategy="no", logging_steps=5, disable_tqdm=True,
                                      gradient_accumulation_steps=2)
        Watched(model=model, args=arguments, train_dataset=Texts()).train()
    print("peak", torch.cuda.max_memory_allocated())


main()
