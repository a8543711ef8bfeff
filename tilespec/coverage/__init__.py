"""Operations of the forward pass against operations of the kernels."""
