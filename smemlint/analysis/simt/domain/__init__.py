"""Abstract values: affine integers over lanes, intervals, pointers, memory and the trace."""
