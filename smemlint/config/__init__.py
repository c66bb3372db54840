"""Settings: the table of options, configuration files, what users assume."""
