"""Many files: tasks, processes, results kept between runs.

Takes sources and settings.
Gives the findings of the run.
"""
