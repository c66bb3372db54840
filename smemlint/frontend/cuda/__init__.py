"""The CUDA C++ front end.

Takes the text of a main file and its includes.
Gives a unit: functions, records and declarations.
"""
