"""An array of JAX on the GPU, which XLA takes from its BFC allocator."""
import os

os.environ["JAX_PLATFORMS"] = "cuda"
os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"  # stand-ins have their own versions
from jax._src import hardware_utils

hardware_utils.has_visible_nvidia_gpu = lambda: True  # JAX looks for /dev/nvidia0
import jax
import numpy

held = jax.device_put(numpy.ones((1024, 1024), numpy.float32))
print("device", held.devices().pop().platform)
