"""The tile program: nodes, operations, printer, verifier."""
