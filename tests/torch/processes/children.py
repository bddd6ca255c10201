"""Starts child processes with the method in argv[1], after it has used the GPU itself. They use it too if argv[2]
is "cuda"; a forked child then gets and prints PyTorch's error."""
import sys

import torch
import torch.multiprocessing as multiprocessing


def say(line):
    """One write per line: with PYTHONUNBUFFERED, `print` makes several writes, and the children's lines would be
    mixed."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def child(uses_cuda):
    if not uses_cuda:
        say(f"child {torch.ones(4).sum().item()}")
        return
    try:
        held = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()
        say(f"child {held.numel()}")
    except RuntimeError as error:
        say(f"child cannot: {str(error).split('.')[0]}")


def main():
    held = torch.empty(5 << 20, dtype=torch.uint8, device="cuda")
    context = multiprocessing.get_context(sys.argv[1])
    children = [context.Process(target=child, args=(sys.argv[2:] == ["cuda"],)) for _ in range(2)]
    for one in children:
        one.start()
    for one in children:
        one.join()
    say(f"parent {held.numel()} {[one.exitcode for one in children]}")


if __name__ == "__main__":
    main()
