"""One module a command; each imports the stages that it needs when it runs."""
