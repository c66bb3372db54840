"""How a file is built: macros, include folders and target, from what the build leaves behind."""
