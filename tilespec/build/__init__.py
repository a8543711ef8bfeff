"""From planned kernels to a package on disk: files, manifest, staleness, assembly."""
