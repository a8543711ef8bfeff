"""What `tilespec lint` does around the stages: cache, comparison with a revision, fixes, summary."""
