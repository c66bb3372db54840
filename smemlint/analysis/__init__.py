"""Analysis: programs in, facts about their shared-memory accesses out."""
