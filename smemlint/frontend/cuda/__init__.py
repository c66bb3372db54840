"""The CUDA C++ front end: own tokens and preprocessor, feeding unmodified pycparser."""
