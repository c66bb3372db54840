"""What bounds the work on hostile input: steps, processor time, memory, sizes of values and texts.

Steps decide what is reported, since they are the same on every machine. Time and memory are the
last resort: where they strike, the findings name them.
"""
