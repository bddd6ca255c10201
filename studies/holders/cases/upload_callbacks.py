# half: seventh
# kind: python
# names: uploads
# or: preview report
# bytes: 25165824
"""Previews are written by a pool of threads; the futures are listed to see at the end that all went well, and their
results are short names. But each has a callback that reports the size of its preview, and a future keeps its callbacks
after it has called them (questions on add_done_callback() and memory). To change: take the size before, so that the
callback has a number, or drop futures that are done."""
import concurrent.futures
import time

import torch


def write(name, rows):
    return f"{name}.png", rows


def upload_preview(pool, name, preview):
    def report(future):
        written, rows = future.result()
        print(f"{written}: {rows} rows of {preview.shape[1]}")

    future = pool.submit(write, name, len(preview))
    future.add_done_callback(report)
    return future


def main():
    decoder = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(decoder.parameters(), lr=0.1)
    uploads = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for step in range(24):
            images = decoder(torch.randn(256, 64, device="cuda"))
            optimizer.zero_grad()
            images.square().mean().backward()
            optimizer.step()
            uploads.append(upload_preview(pool, f"step{step}", images.detach()))
            del images
            time.sleep(0.03)  # stands for the time of the kernels
        failures = [future for future in uploads if future.exception() is not None]
        print(len(failures), "failures")


main()
