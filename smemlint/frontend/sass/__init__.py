"""Machine code of NVIDIA GPUs: cubins, their line tables, and `nvdisasm`'s text."""
