"""PTX, the assembly of NVIDIA's virtual architecture: text becomes typed statements."""
