"""Generated cuTile source on the CPU."""
