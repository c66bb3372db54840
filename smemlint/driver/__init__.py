"""The driver: many files, processes, results kept between runs."""
