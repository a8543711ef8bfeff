"""From a text specification of fused GPU kernels to proven cuTile kernels."""

__all__ = ["__version__"]

__version__ = "0.1.0"
