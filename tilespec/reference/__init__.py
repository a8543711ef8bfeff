"""The safe reference language: check, evaluate, trace."""
