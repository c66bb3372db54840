"""What the machine instructions of sm_75 to sm_121 do to addresses and predicates.

Takes instructions of `frontend.sass`.
Gives the accesses of each kernel on the lines of its table.
"""
