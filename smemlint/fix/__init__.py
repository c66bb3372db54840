"""What to write instead: repairs found on facts, written as edits, offered once evaluated.

Takes findings and their sources.
Gives `Fix`es, each verified by analysing the edited source.
"""
