"""Which variables keep which tensors alive (`memprof run --holders`)."""
