"""What a finding looks like on a terminal, in a log and in a file."""
