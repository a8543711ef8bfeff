"""Times beside eager, `torch.compile` and the roofline."""
