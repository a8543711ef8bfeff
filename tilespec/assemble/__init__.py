"""Generated kernels through the target compiler, without a GPU."""
