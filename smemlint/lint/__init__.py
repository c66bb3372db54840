"""Rules: facts in, findings out; selection, suppression and baselines."""
