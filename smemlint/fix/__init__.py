"""What to write instead: repairs found on facts, written as edits, offered once evaluated."""
