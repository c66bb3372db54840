"""Machine code of NVIDIA GPUs: cubins, their line tables, and `nvdisasm` text of sm_90."""
