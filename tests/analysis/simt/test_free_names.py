"""The names that code takes from around it."""

from smemlint.analysis.simt.free_names import free_names
from smemlint.frontend import ir

NUMBER = ir.TypeDecl(ir.IdentifierType(("int",)))


def names(node):
    return free_names(node, {})


def assigned(name, value):
    return ir.Assignment("=", ir.ID(name), ir.ID(value))


def declared(name, value):
    return ir.Decl(name=name, type=NUMBER, init=ir.ID(value))


def test_a_name_is_taken_from_around_until_it_is_declared():
    inner = ir.Compound((assigned("a", "v"), declared("v", "b"), assigned("c", "v")))
    assert names(inner) == {"a", "v", "b", "c"}
    assert names(ir.Compound((declared("v", "b"), assigned("c", "v")))) == {"b", "c"}
    assert names(ir.Compound((ir.Compound((declared("v", "b"),)), assigned("c", "v")))) == {
        "b",
        "c",
        "v",
    }


def test_the_head_of_a_loop_declares_for_all_of_it():
    head = ir.DeclList((declared("i", "begin"),))
    loop = ir.For(head, ir.ID("i"), None, assigned("a", "i"))
    assert names(loop) == {"begin", "a"}


def test_a_long_chain_of_alternatives_does_not_exhaust_the_stack():
    chain = assigned("a", "b")
    for k in range(20_000):
        chain = ir.If(ir.ID(f"c{k % 10}"), assigned("d", "e"), chain)
    assert names(chain) == {"a", "b", "d", "e", *(f"c{k}" for k in range(10))}
