"""Types: resolution, templates, specializations, overloads and records."""
