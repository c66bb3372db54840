"""What the machine instructions of sm_75 to sm_121 do to addresses and predicates."""
