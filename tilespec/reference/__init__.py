"""The reference language: check, trace, evaluate. Submodules that need torch are imported by name, not from here."""
