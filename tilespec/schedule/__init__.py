"""From a tile program to tile sizes, grid and hints."""
