"""Opening and writing files whose names come from hostile input: confined, bounded, atomic."""
