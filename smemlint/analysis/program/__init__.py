"""The index of a run: translation units, root files, user input and what each result depends on."""
