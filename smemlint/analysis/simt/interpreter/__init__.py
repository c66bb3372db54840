"""The interpreter: statements and expressions by node type."""
