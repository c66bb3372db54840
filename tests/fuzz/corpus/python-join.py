import os

import cupy

kernel = cupy.RawKernel(open(os.path.join()).read(), "k")
