"""Generated kernels against the float64 golden."""
