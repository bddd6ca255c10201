"""Passes a tensor on the GPU to another process, which opens it by CUDA's IPC and also allocates its own memory in
addition to it."""
import torch
import torch.multiprocessing as multiprocessing


def reader(queue, done):
    shared = queue.get()
    own = torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
    print("reader", shared.numel(), own.numel(), flush=True)
    del shared
    done.set()


def main():
    context = multiprocessing.get_context("spawn")
    queue, done = context.Queue(), context.Event()
    process = context.Process(target=reader, args=(queue, done))
    process.start()
    made = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    queue.put(made)
    done.wait()
    process.join()
    print("maker", made.numel(), process.exitcode)


if __name__ == "__main__":
    main()
