"""Arrays of CuPy: some from its pool, one without it. Prints how much the pool took from the driver."""
import cupy

held = [cupy.empty(1 << 20, dtype=cupy.uint8) for _ in range(5)]
pool = cupy.get_default_memory_pool()
apart = cupy.cuda.memory._malloc(3 << 20)
print("pool", pool.total_bytes(), "apart", apart.mem.size)
