"""What the machine instructions of sm_90 do to addresses and predicates."""
