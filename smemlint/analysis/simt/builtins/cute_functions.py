"""CuTe's functions on layouts and tensors; an element of a shared tensor is a shared access."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pycparser import c_ast

from smemlint.analysis.simt.domain.ctypes import I64, ArrayType, CType, RecordType, StaticType
from smemlint.analysis.simt.domain.cute import (
    Swizzled,
    Tensor,
    composed,
    int_tuple,
    layout_of,
    made_layout,
    plain_layout,
    tiled,
    value_of,
)
from smemlint.analysis.simt.domain.memory import Object, Space
from smemlint.analysis.simt.domain.swizzled import swizzled
from smemlint.analysis.simt.domain.values import (
    Cute,
    Int,
    Pointer,
    Unknown,
    Value,
    number,
    offset_of,
)
from smemlint.analysis.simt.interpreter.calls import Calls
from smemlint.analysis.simt.state import Place, Variable
from smemlint.facts import Certainty, LayoutUse
from smemlint.layout import cute

if TYPE_CHECKING:
    from smemlint.analysis.simt.state import Binding

_MAKERS = frozenset(
    ("make_shape", "make_stride", "make_coord", "make_tuple", "make_tile", "make_step")
)
_POINTERS = frozenset(("make_smem_ptr", "make_gmem_ptr", "raw_pointer_cast", "recast_ptr"))
_QUERIES = frozenset(("size", "cosize", "rank", "shape", "stride", "get", "layout", "depth"))
_SAME = frozenset(
    ("as_position_independent_swizzle_tensor", "as_position_independent_swizzle_layout")
)
_ELEMENTS = frozenset(("data", "begin"))


class CuteCalls(Calls):
    """Evaluates them."""

    # ---- functions

    def cute_call(
        self, name: str, arguments: tuple[str, ...], node: c_ast.FuncCall
    ) -> Value | None:
        """The value of a function of CuTe's; None when the name is none."""
        if not self.uses_cute or not self.is_of_cute(name):
            return None
        exprs = list(node.args.exprs) if node.args is not None else []
        if name in _POINTERS:
            return self._typed_pointer(self.evaluate(exprs[0]), arguments) if exprs else None
        if name in _MAKERS:
            return Cute(tuple(self._coordinate(e) for e in exprs))
        if name in ("make_layout", "composition", "tile_to_shape", "make_tensor", *_SAME):
            values = [self.evaluate(e) for e in exprs]
            return self._made(name, arguments, values, node)
        if name in _QUERIES and exprs:
            value = self.evaluate(exprs[0])
            return self._query(name, arguments, value) if isinstance(value, Cute) else None
        if name == "recast" and arguments and exprs:
            value = self.evaluate(exprs[0])
            kind = self.type_argument(arguments[-1])
            if isinstance(value, Cute) and kind is not None:
                return self._recast(value, kind, node)
        return None

    def _made(
        self, name: str, arguments: tuple[str, ...], values: list[Value], node: c_ast.FuncCall
    ) -> Value:
        if name == "make_layout":
            return made_layout(values)
        if name == "tile_to_shape":
            return tiled(values)
        if name in _SAME and values:
            return values[0]
        if name == "composition" and len(values) == 2:
            return composed(values[0], values[1])
        if name == "make_tensor" and len(values) in (2, 3) and isinstance(values[0], Pointer):
            layout = values[1] if layout_of(values[1]) is not None else made_layout(values[1:])
            return self._tensor(values[0], layout, node)
        return Unknown(f"`{name}` is not followed here")

    def _typed_pointer(self, value: Value, arguments: tuple[str, ...]) -> Value:
        kind = self.type_argument(arguments[0]) if arguments else None
        if kind is None or not isinstance(value, Pointer):
            return value
        return Pointer(value.object, value.offset, kind, value.is_volatile)

    def _query(self, name: str, arguments: tuple[str, ...], value: Cute) -> Value | None:
        """`size<0>(x)` and its like."""
        index = [self.value_argument(a) for a in arguments]
        path = [i.constant for i in index if isinstance(i, Int) and i.constant is not None]
        if len(path) != len(index):
            return Unknown("a mode that is not known")
        if name == "layout":
            found = layout_of(value)
            return Cute(found) if found is not None and not path else None
        layout = plain_layout(value)
        if layout is None:
            return self._of_tuple(name, value, path)
        try:
            for mode in path:
                layout = layout.modes()[mode]
        except IndexError:
            return Unknown("a layout has no such mode")
        if name in ("shape", "stride", "get"):
            return value_of(layout.stride if name == "stride" else layout.shape)
        figures = {"size": layout.size, "cosize": layout.cosize, "rank": layout.rank}
        return number(cute.static(figures[name])) if name in figures else None

    def _of_tuple(self, name: str, value: Cute, path: list[int]) -> Value | None:
        found: Value = value
        for mode in path:
            items = found.payload if isinstance(found, Cute) else None
            if not isinstance(items, tuple) or not 0 <= mode < len(items):
                return None
            found = items[mode]
        if name in ("get", "shape", "stride"):
            return found
        known = int_tuple(found)
        if known is None:
            return Unknown("a tuple that is known only at run time")
        if name == "size":
            return number(cute.static(cute.product(known)))
        return number(len(known) if isinstance(known, tuple) else 1) if name == "rank" else None

    def global_binding(self, name: str) -> Binding | None:
        """Names outside the function; `cosize_v<L>` and `sizeof_bits_v<T>` are values."""
        if self.uses_cute and "_v<" in name:
            last, arguments = self.unit.template_arguments(name.rsplit("::", 1)[-1])
            kind = self.type_argument(arguments[0]) if len(arguments) == 1 else None
            if last == "sizeof_bits_v" and kind is not None and kind.size:
                return number(8 * kind.size)
            if last == "cosize_v" and isinstance(kind, StaticType):
                layout = plain_layout(self.static_value(kind))
                return number(cute.static(layout.cosize)) if layout is not None else None
        return super().global_binding(name)

    # ---- tensors

    def _tensor(self, pointer: Pointer, layout: Value, node: c_ast.Node) -> Value:
        """A tensor in shared memory; elsewhere it is of no interest."""
        if pointer.object.space is not Space.SHARED:
            return Unknown("a tensor that is not in shared memory")
        found = layout_of(layout)
        size = pointer.target.size
        if found is None or not size:
            why = layout.reason if isinstance(layout, Unknown) else "the layout is not known"
            said = f"the layout of a tensor of `{pointer.object.name}` is not known: {why}"
            return self.not_followed(node, said)
        if not isinstance(found, Swizzled):
            return Cute(Tensor(pointer, found, offset_of(0)))
        use = self._use(pointer, found, node)
        held = replace(pointer, object=_view(pointer.object, use))
        return Cute(Tensor(held, found.layout, offset_of(0), found.swizzle, found.units, use))

    def _use(self, pointer: Pointer, found: Swizzled, node: c_ast.Node) -> LayoutUse:
        """The fact of a swizzled layout over a pointer."""
        array, at = pointer.object.shared, pointer.offset.constant
        size = pointer.target.size
        unit = size if found.units == "bytes" else 1
        modes = found.layout.static_modes()
        extent = None
        if array is not None and array.bytes is not None and at is not None:
            extent = (array.bytes - at) // size * unit
        s = found.swizzle
        use = LayoutUse(
            self.unit.span(node),
            "cute",
            str(found),
            self.frames[0].name,
            (s.bits, s.base, s.shift),
            units=found.units,
            element_bytes=size,
            shape=tuple(extent for extent, _ in modes),
            stride=tuple(stride * unit for _, stride in modes),
            extent=extent,
            array=array,
            certainty=Certainty.ASSUMED,
            is_bound=True,
            base=at,
        )
        return self.layouts.setdefault(f"tensor {use.span} {found} {at}", use)

    def _recast(self, value: Cute, kind: CType, node: c_ast.Node) -> Value:
        """`recast<T>(tensor)`: wider elements lose what the swizzle does below them, as in CuTe."""
        tensor = value.payload
        if not isinstance(tensor, Tensor) or not kind.size or tensor.offset.constant != 0:
            return Unknown("a recast that is not followed")
        old, new = tensor.pointer.target.size, kind.size
        pointer = replace(tensor.pointer, target=kind)
        if old == new:
            return Cute(replace(tensor, pointer=pointer))
        factor = max(old, new) // min(old, new)
        try:
            if new > old:
                layout = cute.upcast(tensor.layout, factor)
            else:
                layout = cute.downcast(tensor.layout, factor)
            s = tensor.swizzle
            if s is not None and tensor.units == "elements":
                if new > old and tensor.use is not None and s.loses_bits_when_upcast(factor):
                    torn = replace(
                        tensor.use,
                        span=self.unit.span(node),
                        parameters=(("vector_bytes", new),),
                        is_bound=False,
                    )
                    self.layouts.setdefault(f"recast {torn.span} {new}", torn)
                s = s.upcast(factor) if new > old else s.downcast(factor)
        except ValueError as error:
            return Unknown(f"CuTe refuses the recast: {error}")
        return Cute(replace(tensor, pointer=pointer, layout=layout, swizzle=s))

    # ---- elements

    def place(self, node: c_ast.Node) -> Place | Unknown:
        """The lvalue of an expression; `t(i, j)` is one."""
        if isinstance(node, c_ast.FuncCall):
            tensor = self._called_tensor(node)
            if tensor is not None:
                exprs = list(node.args.exprs) if node.args is not None else []
                return self._element(tensor, exprs, node)
        return super().place(node)

    def _eval_FuncCall(self, node: c_ast.FuncCall) -> Value:
        tensor = self._called_tensor(node)
        if tensor is None:
            return self.call(node)
        exprs = list(node.args.exprs) if node.args is not None else []
        if any(_is_slice(e) for e in exprs):
            return self._sliced(tensor, exprs)
        place = self._element(tensor, exprs, node)
        return place if isinstance(place, Unknown) else self.read(place, node)

    def _element_place(self, node: c_ast.ArrayRef) -> Place | Unknown:
        tensor = self._tensor_named(node.name)
        if tensor is not None:
            return self._element(tensor, [node.subscript], node)
        return super()._element_place(node)

    def _called_tensor(self, node: c_ast.FuncCall) -> Tensor | None:
        return self._tensor_named(node.name) if isinstance(node.name, c_ast.ID) else None

    def _tensor_named(self, node: c_ast.Node) -> Tensor | None:
        """The tensor that a name stands for."""
        binding = self.lookup(node.name) if node.__class__ is c_ast.ID else None
        if binding.__class__ is not Variable:
            return None
        target = getattr(binding.type, "target", binding.type)
        if target.__class__ is not StaticType or not isinstance(target.value, Cute):
            return None
        if not isinstance(target.value.payload, Tensor):
            return None
        value = self.evaluate(node)  # it may have been assigned anew
        held = value.payload if isinstance(value, Cute) else None
        return held if isinstance(held, Tensor) else None

    def _coordinate(self, node: c_ast.Node) -> Value:
        return Cute("_") if _is_slice(node) else self.evaluate(node)

    def _element(
        self, tensor: Tensor, exprs: list[c_ast.Node], node: c_ast.Node
    ) -> Place | Unknown:
        """The place of an element: layout, then swizzle, then bytes."""
        values = [self._coordinate(e) for e in exprs]
        inside = self._offset(values[0] if len(values) == 1 else Cute(tuple(values)), tensor.layout)
        if not isinstance(inside, Unknown):
            inside = self.algebra.add(tensor.offset, inside)
        at = inside if isinstance(inside, Unknown) else self._kept(tensor, inside)
        if isinstance(at, Unknown):
            return self.lost(tensor.pointer, at)
        held = tensor.pointer
        return Place(held.object, at, held.target, held.is_volatile)

    def _kept(self, tensor: Tensor, inside: Int) -> Int | Unknown:
        """The byte where an offset of the layout is kept."""
        moved: Int | Unknown = inside
        if tensor.swizzle is not None and tensor.units == "elements":
            moved = swizzled(inside, tensor.swizzle)
        if isinstance(moved, Unknown):
            return moved
        wide = Int(moved.base, I64, moved.terms, moved.form)
        step = self.algebra.multiply(wide, Int(tensor.pointer.target.size, I64))
        if isinstance(step, Unknown):
            return step
        at = self.algebra.add(tensor.pointer.offset, step)
        if tensor.swizzle is not None and tensor.units == "bytes":
            return swizzled(at, tensor.swizzle)
        return at

    def _offset(self, coordinate: Value, layout: cute.Layout) -> Int | Unknown:
        """The layout's offset of a coordinate: a number, or a tuple with one entry a mode."""
        if isinstance(coordinate, Cute) and isinstance(coordinate.payload, tuple):
            modes = layout.modes()
            if len(coordinate.payload) != len(modes):
                return Unknown(f"a coordinate of another rank than {layout}")
            total: Int | Unknown = Int(0, I64)
            for part, mode in zip(coordinate.payload, modes, strict=True):
                step = self._offset(part, mode)
                if isinstance(total, Unknown) or isinstance(step, Unknown):
                    return total if isinstance(total, Unknown) else step
                total = self.algebra.add(total, step)
            return total
        if isinstance(coordinate, Unknown):
            return coordinate
        if not isinstance(coordinate, Int):
            return Unknown("a coordinate is not a number")
        return self._offset_of_number(coordinate, layout)

    def _offset_of_number(self, coordinate: Int, layout: cute.Layout) -> Int | Unknown:
        modes = cute.coalesce(layout).static_modes()
        total: Int | Unknown = Int(0, I64)
        rest: Value = Int(coordinate.base, I64, coordinate.terms, coordinate.form)
        for k, (extent, stride) in enumerate(modes):
            part = rest
            if k + 1 < len(modes):
                part = self.binary("%", rest, number(extent, I64), _NOWHERE)
                rest = self.binary("/", rest, number(extent, I64), _NOWHERE)
            if isinstance(part, Unknown):
                return part
            assert isinstance(part, Int) and isinstance(total, Int)
            step = self.algebra.multiply(part, number(stride, I64))
            if isinstance(step, Unknown):
                return step
            total = self.algebra.add(total, step)
        return total

    def _sliced(self, tensor: Tensor, exprs: list[c_ast.Node]) -> Value:
        """`t(_, k)`: the modes that stay, with what is fixed added before the swizzle."""
        modes = tensor.layout.modes()
        if len(exprs) != len(modes):
            return Unknown(f"a slice of another rank than {tensor.layout}")
        kept: list[cute.Layout] = []
        offset: Int | Unknown = tensor.offset
        for expr, mode in zip(exprs, modes, strict=True):
            if _is_slice(expr):
                kept.append(mode)
                continue
            step = self._offset(self.evaluate(expr), mode)
            if isinstance(step, Unknown) or isinstance(offset, Unknown):
                return step if isinstance(step, Unknown) else offset
            offset = self.algebra.add(offset, step)
        if isinstance(offset, Unknown):
            return offset
        layout = kept[0] if len(kept) == 1 else cute.make_layout(*kept)
        return Cute(replace(tensor, layout=layout, offset=offset))

    # ---- members

    def _method_call(self, callee: c_ast.StructRef, node: c_ast.FuncCall) -> Value:
        tensor = self._tensor_named(callee.name)
        name, arguments = self.unit.template_arguments(callee.field.name)
        if tensor is not None:
            if name in _ELEMENTS:
                return tensor.pointer
            found = self._query(name, arguments, Cute(tensor)) if name in _QUERIES else None
            return found if found is not None else self.unfollowed_call(self.source(callee), node)
        if self.uses_cute and name in _ELEMENTS and callee.type == ".":
            place = super().place(callee.name)
            array = _array_member(place.type) if isinstance(place, Place) else None
            if isinstance(place, Place) and array is not None:
                return Pointer(place.object, place.offset, array.element, place.volatile)
        return super()._method_call(callee, node)


_NOWHERE = c_ast.Constant("int", "0")


def _view(obj: Object, use: LayoutUse) -> Object:
    """The object, to be reached through a swizzle."""
    return Object(
        obj.name,
        obj.type,
        obj.space,
        obj.key,
        shared=obj.shared,
        is_volatile=obj.is_volatile,
        origin=obj.origin or obj,
        layout=use,
    )


def _is_slice(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.ID) and node.name in ("_", "cute::_")


def _array_member(kind: CType) -> ArrayType | None:
    """The array of a class that is nothing but an array."""
    if not isinstance(kind, RecordType) or kind.record is not None or len(kind.members) != 1:
        return None
    only = kind.members[0]
    return only.type if not only.name and isinstance(only.type, ArrayType) else None


__all__ = ["CuteCalls"]
