"""What recording a change of a pool costs, with the stub of vLLM's block pool. Once alone, once recorded:

    python3 studies/serving/cost.py
    build/bin/memprof run --torch -o cost.mprof -- python3 studies/serving/cost.py
"""

import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "python"))
import serving_guest

CALLS = 200

with tempfile.TemporaryDirectory() as folder:
    serving_guest.write(folder)
    sys.path.insert(0, folder)
    import torch  # the agent starts  # pylint: disable=unused-import
    from vllm.v1.core.block_pool import BlockPool
    pool = BlockPool(10)
    best = float("inf")
    for _ in range(200):
        begin = time.perf_counter()
        for _ in range(CALLS // 2):
            pool.free_blocks(pool.get_new_blocks(1))
        best = min(best, time.perf_counter() - begin)
    print("%.2f us a call" % (best / CALLS * 1e6))
