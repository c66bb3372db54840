"""The hardware: banks, wavefronts and what differs between architectures."""
