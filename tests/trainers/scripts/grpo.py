"""TRL's GRPO: rollouts and training share the GPU."""

import json
import os
import sys

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer
from trl.trainer import grpo_trainer

import memprof
from memprof.integrations.transformers import watch

words = {word: number for number, word in enumerate(["<pad>", "<eos>", "<unk>"] + ["w%d" % n for n in range(61)])}
text = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
text.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=text, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                     num_attention_heads=4, num_key_value_heads=4, pad_token_id=0, eos_token_id=1,
                                     bos_token_id=1))


def rollout(prompts, trainer):
    """16 words with a cache. The stand-in computes no values, so no sequence ever ends in Transformers' generate."""
    past, ids = None, torch.full((len(prompts), 3), 4, device="cuda")
    with torch.no_grad():
        for _ in range(16):
            past = model(input_ids=ids, past_key_values=past, use_cache=True).past_key_values
            ids = ids[:, :1]
    return {"prompt_ids": [[4, 5, 6]] * len(prompts), "completion_ids": [[5] * 16] * len(prompts),
            "logprobs": [[-1.0] * 16] * len(prompts)}


arguments = GRPOConfig(output_dir=sys.argv[1], per_device_train_batch_size=4, num_generations=4, max_steps=3,
                       max_completion_length=16, report_to=[], save_strategy="no", logging_steps=1, bf16=False,
                       disable_tqdm=True)
trainer = GRPOTrainer(model, reward_funcs=lambda completions, **more: [float(len(c)) for c in completions],
                      args=arguments, rollout_func=rollout, processing_class=tokenizer,
                      train_dataset=Dataset.from_dict({"prompt": ["w1 w2 w3"] * 16}))
# Metrics of values, which the stand-in does not compute.
grpo_trainer.nanmin = grpo_trainer.nanmax = lambda tensor: torch.zeros(())
memprof.phases(trainer, rollout="_generate_and_score_completions", loss="compute_loss")
profile = watch(trainer)
trainer.train()
print(json.dumps({"phases": profile.phases(), "text": str(profile)}))
