"""The interpreter: a handler for each type of statement, expression and lvalue.

Takes nodes of `frontend.ir`.
Gives values of `domain`, and changes of `State`.
"""
