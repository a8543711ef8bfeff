"""Ops of the forward pass against ops of the kernels."""
