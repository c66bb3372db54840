"""Expressions of executed programs, besides calls: by thread where an operand is a number."""

from __future__ import annotations

import ast

from smemlint.analysis.python.cute_dsl.execution import numbers
from smemlint.analysis.python.cute_dsl.execution.merging import merge_branches
from smemlint.analysis.python.cute_dsl.execution.state import Execution
from smemlint.analysis.python.cute_dsl.execution.values import Number, Opaque, Rest
from smemlint.analysis.python.interpreter import Interpreter, expressions
from smemlint.analysis.python.interpreter.constant_folding import fold_membership, is_complete
from smemlint.analysis.python.interpreter.containers import evaluate_subscript, items_of
from smemlint.analysis.python.interpreter.dispatch import EXPRESSIONS, ExpressionHandlers
from smemlint.analysis.python.interpreter.values import (
    UNKNOWN,
    DType,
    Function,
    Scopes,
    Symbol,
    Unknown,
    Value,
    is_known,
)
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.sizes import require_tree
from smemlint.reasons import Assumption, Topic


@dataclass(frozen=True, slots=True, eq=False)
class Expressions:
    """Handlers of expressions that share the state of an execution."""

    run: Execution

    def evaluate_lambda(self, interpreter: Interpreter, node: ast.Lambda, scopes: Scopes) -> Value:
        """Returns a function of one expression."""
        result = ast.copy_location(ast.Return(node.body), node.body)
        function = ast.FunctionDef("<lambda>", node.args, [result], [], None)
        return Function(ast.copy_location(function, node), scopes, is_kernel=False)

    def evaluate_comparison(
        self, interpreter: Interpreter, node: ast.Compare, scopes: Scopes
    ) -> Value:
        """Returns the result of a comparison; None equals no object."""
        if len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
            one = interpreter.evaluate(node.left, scopes)
            other = interpreter.evaluate(node.comparators[0], scopes)
            if isinstance(node.ops[0], ast.Is | ast.IsNot):
                return self._is(one, other, isinstance(node.ops[0], ast.Is))
            return self._contains(one, other, isinstance(node.ops[0], ast.In))
        values = [interpreter.evaluate(v, scopes) for v in (node.left, *node.comparators)]
        results = [
            expressions.operate(interpreter, op, a, b)
            for op, a, b in zip(node.ops, values, values[1:], strict=False)
        ]
        if isinstance(results[0], Number) and isinstance(node.ops[0], ast.Eq):
            self.run.settling.compare(node, *values[:2])
        found: Value = results[0]
        for result in results[1:]:
            found = self._both(found, result)
        return found

    def _is(self, one: Value, other: Value, expected: bool) -> Value:
        if isinstance(one, Unknown) or isinstance(other, Unknown):
            return UNKNOWN
        if one is None or other is None or isinstance(other, bool):
            return (one is other) == expected
        if isinstance(one, Symbol) and isinstance(other, Symbol):
            return (numbers.tail(one) == numbers.tail(other)) == expected
        if isinstance(one, DType) and isinstance(other, DType):
            return (one == other) == expected
        return (one is other) == expected if not is_known(one) else UNKNOWN

    def _contains(self, one: Value, other: Value, expected: bool) -> Value:
        if isinstance(one, Symbol) and isinstance(other, tuple | list):
            named = [numbers.tail(o) for o in other if isinstance(o, Symbol)]
            return (numbers.tail(one) in named) == expected if len(named) == len(other) else UNKNOWN
        inside = fold_membership(one, other)
        return inside == expected if inside is not None else UNKNOWN

    def _both(self, one: Value, other: Value) -> Value:
        for value in (one, other):
            if value is False:
                return False
            if isinstance(value, Unknown):
                return value
        if one is True:
            return other
        if other is True:
            return one
        return numbers.calculate(self.run, ast.BitAnd(), one, other)

    def evaluate_logical(self, interpreter: Interpreter, node: ast.BoolOp, scopes: Scopes) -> Value:
        """Returns the result of `and` or `or`, by thread where an operand is a number."""
        values: list[Value] = []
        is_or = isinstance(node.op, ast.Or)
        for part in node.values:
            value = interpreter.evaluate(part, scopes)
            outcome = bool(value) if is_known(value) else numbers.truth_of(value)
            if outcome is is_or:
                return value if not values else is_or if isinstance(value, bool | int) else UNKNOWN
            if not isinstance(outcome, bool):
                values.append(value)
        if not values:
            return value
        found = values[0]
        for other in values[1:]:
            if not isinstance(found, Number) or not isinstance(other, Number):
                return UNKNOWN
            found = numbers.calculate(
                self.run, ast.BitOr() if is_or else ast.BitAnd(), found, other
            )
        return found

    def evaluate_conditional(
        self, interpreter: Interpreter, node: ast.IfExp, scopes: Scopes
    ) -> Value:
        """Returns the chosen operand, or what covers both."""
        value = interpreter.evaluate(node.test, scopes)
        test = bool(value) if is_known(value) else numbers.truth_of(value)
        if not isinstance(test, bool) and node.test in self.run.outcomes:
            test = self.run.outcomes[node.test]
        if isinstance(test, bool):
            return interpreter.evaluate(node.body if test else node.orelse, scopes)
        body = interpreter.evaluate(node.body, scopes)
        otherwise = interpreter.evaluate(node.orelse, scopes)
        return merge_branches(self.run, {"": body}, {"": otherwise}, test)[""]

    def evaluate_tuple(self, interpreter: Interpreter, node: ast.Tuple, scopes: Scopes) -> Value:
        """Returns a tuple; an opaque object that it unpacks stays as one item."""
        items: list[Value] = []
        for part in node.elts:
            if not isinstance(part, ast.Starred):
                items.append(interpreter.evaluate(part, scopes))
                continue
            value = interpreter.evaluate(part.value, scopes)
            if isinstance(value, tuple | list):
                items += value
            elif isinstance(value, Opaque):
                items.append(Rest(value.name))
            else:
                return UNKNOWN
        require_tree(items)
        return tuple(items)

    def evaluate_subscript(
        self, interpreter: Interpreter, node: ast.Subscript, scopes: Scopes
    ) -> Value:
        """Returns an item; of a table of the host whose key is open it is one that is guessed."""
        found = evaluate_subscript(interpreter, node, scopes)
        is_of_host = self.run.kernel is None and interpreter.frames
        if not (isinstance(found, Unknown) and is_of_host and isinstance(node.value, ast.Name)):
            return found
        table = interpreter.evaluate(node.value, scopes)
        if not isinstance(table, dict) or not table or not is_complete(table):
            return found
        if is_known(interpreter.evaluate(node.slice, scopes)):
            return found
        self.run.has_open_conditions = True
        if not self.run.assumes:
            return found
        text = f"`{ast.unparse(node)}` is one of the first two items"
        self.run.assumed.setdefault(Assumption(Topic.CONDITION, text))
        return list(table.values())[min(self.run.choice or 0, len(table) - 1)]

    def evaluate_set(self, interpreter: Interpreter, node: ast.Set, scopes: Scopes) -> Value:
        """Returns the items of a set in the order in which they are written."""
        items = tuple(items_of(interpreter, node.elts, scopes))
        require_tree(items)
        return items


def handlers(run: Execution) -> ExpressionHandlers:
    """Returns the handlers of the expressions of an executed program, but for its calls."""
    own = Expressions(run)
    return {
        **EXPRESSIONS,
        ast.Lambda: own.evaluate_lambda,
        ast.Compare: own.evaluate_comparison,
        ast.BoolOp: own.evaluate_logical,
        ast.IfExp: own.evaluate_conditional,
        ast.Tuple: own.evaluate_tuple,
        ast.Set: own.evaluate_set,
        ast.Subscript: own.evaluate_subscript,
    }
