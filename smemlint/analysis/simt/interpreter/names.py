"""Names: what an identifier stands for, from the innermost scope out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from smemlint.analysis.simt.domain.ctypes import (
    BOOL,
    I32,
    I64,
    PointerType,
    RecordType,
)
from smemlint.analysis.simt.domain.memory import Object, Space
from smemlint.analysis.simt.domain.values import (
    Callable,
    Unknown,
    Value,
    number,
)
from smemlint.analysis.simt.interpreter.lvalues import Places
from smemlint.analysis.simt.state import Lazy, Place, Variable

if TYPE_CHECKING:
    from pycparser import c_ast

    from smemlint.analysis.simt.state import Binding


class Names(Places):
    """Looks names up."""

    def binding(self, name: str, node: c_ast.Node) -> Binding:
        """What a name stands for; `Unknown` when nothing in the unit says."""
        local = self.lookup(name)
        if isinstance(local, Lazy):
            local = self._force(name, local)
        if local is not None:
            return local
        member = self._own_member(name)
        if member is not None:
            return member
        match name:
            case "true" | "false":
                return number(int(name == "true"), BOOL)
            case "nullptr" | "NULL" | "__null":
                return number(0, I64)
            case "warpSize" | "WARP_SIZE" if name == "warpSize" or not self.global_binding(name):
                return number(32, I32)
            case "threadIdx" | "blockIdx" | "blockDim" | "gridDim" | "clusterDim":
                return Callable(name)
            case "__unparsed":
                return Unknown("a part of the expression could not be parsed")
        found = self.global_binding(name)
        if isinstance(found, Lazy):
            found = self._force(name, found)
        if found is not None:
            return found
        kind = self.spelled_type(name)
        if kind is not None:
            return kind
        return Unknown(f"`{name}` is not declared in what was read", is_uniform=False)

    def _force(self, name: str, lazy: Lazy) -> Value:
        lazy.scope[name] = Unknown(f"`{name}` is defined by itself")
        value = self.evaluate(lazy.node)
        lazy.scope[name] = value
        return value

    def _own_member(self, name: str) -> Binding | None:
        """A member or static of the object that the method works on."""
        frame = self.frame
        if frame.this is not None and isinstance(frame.this.target, RecordType):
            member = frame.this.target.member(name)
            if member is not None:
                place = self._member_place(frame.this, frame.this.target, name)
                if isinstance(place, Place):
                    return Variable(
                        Object(
                            name,
                            PointerType(place.type, True),
                            Space.LOCAL,
                            name,
                            {0: place.pointer()},
                        ),
                        PointerType(place.type, True),
                    )
        if frame.record is not None and name in frame.record.statics:
            return self.static_member(frame.record, name)
        return None
