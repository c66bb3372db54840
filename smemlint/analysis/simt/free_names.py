"""The names that a piece of code takes from around it."""

from __future__ import annotations

from smemlint.frontend import ir

_SCOPES = (ir.Compound, ir.For, ir.RangeFor, ir.Case, ir.Default)


def free_names(node: ir.Node, known: dict[ir.Node, frozenset[str]]) -> frozenset[str]:
    """Returns the identifiers of a node but for those that its scopes declare before."""
    worklist = [node]
    while worklist:
        latest = worklist[-1]
        if latest in known:
            worklist.pop()
            continue
        if isinstance(latest, ir.Expression):
            known[latest] = frozenset(n.name for n in latest.walk() if isinstance(n, ir.ID))
            continue
        children = latest.children()
        unread = [child for child in children if child not in known]
        if unread:
            worklist += unread
            continue
        known[latest] = _joined(latest, children, known)
    return known[node]


def _joined(
    node: ir.Node, children: list[ir.Node], known: dict[ir.Node, frozenset[str]]
) -> frozenset[str]:
    names: set[str] = set()
    declared: set[str] = set()
    for child in children:
        names |= known[child] - declared
        if isinstance(node, _SCOPES):
            decls = child.decls if isinstance(child, ir.DeclList) else (child,)
            declared.update(each.name for each in decls if isinstance(each, ir.Decl))
    return frozenset(names)
