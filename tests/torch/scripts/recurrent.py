"""Recurrent networks of cuDNN: LSTM with projection, bidirectional GRU, packed sequences."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

torch.manual_seed(0)
lstm = nn.LSTM(64, 128, num_layers=2, proj_size=32, dropout=0.2, batch_first=True).cuda()
gru = nn.GRU(32, 48, bidirectional=True, batch_first=True).cuda()
parameters = list(lstm.parameters()) + list(gru.parameters())
optimizer = torch.optim.Adagrad(parameters)
for step in range(4):
    hidden, _ = lstm(torch.randn(8, 20, 64, device="cuda"))
    packed = pack_padded_sequence(hidden, torch.arange(20, 12, -1), batch_first=True)
    output, _ = gru(packed)
    optimizer.zero_grad()
    output.data.sum().backward()
    optimizer.step()
