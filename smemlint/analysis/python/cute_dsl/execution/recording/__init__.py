"""What an execution accesses, recorded as events of the trace of its kernel."""
