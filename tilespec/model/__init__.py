"""The validated model of a spec file."""
