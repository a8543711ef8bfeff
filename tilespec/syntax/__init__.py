"""Text to a syntax tree with spans, and back."""
