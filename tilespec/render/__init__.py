"""From a scheduled tile program to source text."""
