"""From ATen calls to the tile program."""
