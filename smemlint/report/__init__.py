"""What a finding looks like on a terminal, in a log and in a file.

Takes the result of a run.
Gives text, JSON, SARIF, HTML and other formats.
"""
