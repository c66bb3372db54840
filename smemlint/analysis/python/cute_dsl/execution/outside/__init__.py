"""What enters a file from outside: callers in other files, guesses at arguments."""
