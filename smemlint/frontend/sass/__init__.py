"""Machine code of NVIDIA GPUs.

Takes cubins, or the text of `nvdisasm`.
Gives instructions with operands, labels and source lines.
"""
