"""From a model to a spec file."""
