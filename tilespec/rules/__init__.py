"""Every finding, one class each."""
