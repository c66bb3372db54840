"""Each rule of desugaring, on the nodes that a function becomes."""

from __future__ import annotations

import pytest

from smemlint.frontend import ir
from smemlint.frontend.cuda.unit import LoadOptions, load_unit
from tests.frontend import ir_text


def parsed(body: str, head: str = "__global__ void k(float* p, int n)", before: str = ""):  # type: ignore[no-untyped-def]
    unit = load_unit("k.cu", f"{before}\n{head} {{ {body} }}", LoadOptions(read=lambda _: None))
    return unit.functions[-1].parse()


def items(body: str, **where: str) -> list[ir.Node]:
    """The statements of a function that loses none."""
    function = parsed(body, **where)
    assert [lost.reason for lost in function.dropped] == []
    return list(function.tree.body.block_items)


def printed(body: str, **where: str) -> str:
    """One statement as C, blanks made single."""
    (item,) = items(body, **where)
    return ir_text.printed(item)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        # Template bracket or less-than.
        ("x = f<3>(n);", "x = f<3>(n)"),
        ("x = a::f<T, 3>::g(n);", "x = a::f<T, 3>::g(n)"),
        ("x = i < n && n > (3);", "x = (i < n) && (n > 3)"),
        ("x = n < 3 ? a : b > c ? d : e;", "x = (n < 3) ? (a) : ((b > c) ? (d) : (e))"),
        ("x = n < m > (k);", "x = (n < m) > k"),
        ("x = N < 3 ? a : b > c;", "x = (N < 3) ? (a) : (b > c)"),
        ("g(n < x, y > (z));", "g(n < x, y > z)"),
        ("x = p[0] < y || n > z;", "x = (p[0] < y) || (n > z)"),
        ("x = s.size < y;", "x = s.size < y"),
        ("int g = idx.template g<a, 3>();", "int g = idx.g<a, 3>()"),
        ("x = DIM<typename T::V> + W<int> / 2;", "x = DIM<typename T::V> + (W<int> / 2)"),
        ("std::conditional_t<N == 1 || b, A, B> x;", "std::conditional_t<N==1||b, A, B> x"),
        ("x = T::N < 3 || n > m;", "x = (T::N < 3) || (n > m)"),
        ("s.template get<3>().x = 1;", "s.get<3>().x = 1"),
        ("x = std::numeric_limits<float>::max();", "x = std::numeric_limits<float>::max()"),
        ("x = is_same_v<T, U>;", "x = is_same_v<T, U>"),
        ("x = s.template operator()<3>(n);", "x = s.operator()<3>(n)"),
        # Shifts arrive as single `>`.
        ("x = n >> 2 >= 1;", "x = (n >> 2) >= 1"),
        ("n >>= 2;", "n >>= 2"),
        ("v<v<int>> x;", "v<v<int>> x"),
        # Cast or parenthesised expression.
        ("x = (float)n * 2;", "x = ((float) n) * 2"),
        ("x = (n) * p[0];", "x = n * p[0]"),
        ("x = (n) - 1;", "x = n - 1"),
        ("x = (size_t)-1;", "x = (size_t) (-1)"),
        ("x = (int)+n;", "x = (int) (+n)"),
        ("x = (float)*p;", "x = (float) (*p)"),
        ("x = (n) & 3;", "x = n & 3"),
        ("x = (float4*)&p[0];", "x = (float4 *) (&p[0])"),
        ("x = (Unknown*)p;", "x = (Unknown *) p"),
        ("x = (Unknown)n;", "x = (Unknown) n"),
        ("x = (unsigned long long)n;", "x = (unsigned long long) n"),
        ("x = static_cast<unsigned>(n) % 3;", "x = ((unsigned) n) % 3"),
        ("x = std::bit_cast<int>(n);", "x = std::bit_cast<int>(n)"),
        ("x = int(n) + unsigned(3);", "x = ((int) n) + ((unsigned) 3)"),
        ("x = float{};", "x = (float) 0"),
        ("reinterpret_cast<float4&>(p[n]) = v;", "*((float4 *) (&p[n])) = v"),
        ("x = reinterpret_cast<const float4*>(p)[3];", "x = ((const float4 *) p)[3]"),
        # Declaration or multiplication.
        ("T* x = p;", "T *x = p"),
        ("n * x;", "n * x"),
        ("p[0] * x;", "p[0] * x"),
        ("A::B x(3);", "A::B x(3)"),
        ("float x{3};", "float x = {3}"),
        ("float x = {n};", "float x = {n}"),
        ("dim3 x(1, 2);", "dim3 x(1, 2)"),
        ("const auto x = n;", "const auto x = n"),
        ("unsigned int x = n, *y = 0;", None),
        # Types constructed in expressions.
        ("x = float4{1, 2, 3, 4};", "x = float4{1, 2, 3, 4}"),
        ("x = dim3(1, 2);", "x = dim3{1, 2}"),
        ("x = Unknown{1};", "x = Unknown{1}"),
        ("f({1, 2});", "f({1, 2})"),
        ("f(float, n);", "f(float, n)"),
        # Views.
        ("float (*x)[33] = (float (*)[33])p;", "float (*x)[33] = (float (*)[33]) p"),
        ("auto x = reinterpret_cast<float (*)[33]>(p);", "auto x = (float (*)[33]) p"),
        ("typename A::T x = 1;", "A::T x = 1"),
        ("decltype(n) x = 1;", "decltype(n) x = 1"),
        # Shared memory.
        ("__shared__ float x[32][N + 1];", "__shared__ float x[32][N + 1]"),
        ("extern __shared__ char x[];", "extern __shared__ char x[]"),
        ("__shared__ alignas(16) float x[4];", "__shared__ alignas(16) float x[4]"),
        ("alignas(128) extern __shared__ int x[];", "extern __shared__ alignas(128) int x[]"),
        ("static constexpr int x = 3;", "static constexpr int x = 3"),
        ("volatile __shared__ int x;", "__shared__ volatile int x"),
        # Calls of another kind.
        ("k<T, 3><<<dim3(1, 2), 32, 0>>>(p);", "k<T, 3><<<dim3{1, 2}, 32, 0>>>(p)"),
        ("k<<<n >> 2, 32>>>(p);", "k<<<n >> 2, 32>>>(p)"),
        ("f(a...);", "f(a...)"),
        ("f(g(a)..., n);", "f(g(a)..., n)"),
        ("x = (a + ...);", "x = fold(a)"),
        ("(f(a), ...);", "fold(f(a))"),
        ("x = (n + f(a...)) * 2;", "x = (n + f(a...)) * 2"),
        ("x = sizeof(float4) + sizeof n;", "x = (sizeof(float4)) + (sizeof(n))"),
        ("x = alignof(float4);", "x = alignof(float4)"),
        ("x = sizeof...(a);", "x = sizeof...(a)"),
        ("x = new int[3];", "x = new"),
        ("this->x = (*this)(3);", "this->x = (*this)(3)"),
        ("x = s.operator()(n);", "x = s.operator()(n)"),
        ("static_assert(N % 2 == 0, \"even\");", "static_assert((N % 2) == 0)"),
        ("using V = float4;", "typedef float4 V"),
        ("using V = float[3];", "typedef float V[3]"),
        ("typedef float4 V;", "typedef float4 V"),
        # Literals and words.
        ("x = 1'000 + 0x1Fu + 0b11;", "x = (1000 + 0x1Fu) + 0b11"),
        ("x = 'a' + '\\n';", "x = 'a' + '\\n'"),
        ("x = 1.5f + .5 + 1e-3f;", "x = (1.5f + .5) + 1e-3f"),
        ("x = not a and b;", "x = (!a) && b"),
        ('throw error("n is ", n);', "throw"),
        ("x = n ? a : throw b;", "x = (n) ? (a) : (throw)"),
        ("x = n ? throw a, b : c;", "x = (n) ? (throw, b) : (c)"),
        ("x = true ? nullptr : p;", "x = (true) ? (nullptr) : (p)"),
        ('f(u8"a" "b");', 'f("ab")'),
    ],
)  # fmt: skip
def test_statement(source: str, expected: str | None) -> None:
    if expected is None:
        assert len(items(source)) == 2
    else:
        assert printed(source) == expected


def test_a_template_parameter_of_value_kind_is_no_template() -> None:
    body = "x = N < 3 && n > (2);"
    head = "template <int N, typename T> __global__ void k(int n)"
    assert printed(body, head=head) == "x = (N < 3) && (n > 2)"
    assert printed("x = (T)n - T(3);", head=head) == "x = ((T) n) - T{3}"


def test_a_reference_is_a_pointer_with_its_own_qualifier() -> None:
    (one, two, array) = items("float& a = p[0]; auto&& b = n; float (&c)[4] = r;")
    assert one.type.quals == ("&",)
    assert isinstance(one.type.type, ir.TypeDecl)
    assert two.type.quals == ("&&",)
    assert array.type.quals == ("&",)
    assert isinstance(array.type.type, ir.ArrayDecl)
    assert array.type.type.dim.value == "4"


def test_a_type_is_one_word_and_built_in_ones_are_several() -> None:
    one, two = items("ns::Tensor<float, 8> a; unsigned int b;")
    assert one.type.type.names == ("ns::Tensor<float, 8>",)
    assert two.type.type.names == ("unsigned", "int")


def test_a_lambda_says_how_many_of_its_declarations_are_parameters() -> None:
    (item,) = items("auto f = [&, n](int i, float& o) mutable -> float { int t = i; return t; };")
    assert isinstance(item.init, ir.Lambda)
    assert [param.name for param in item.init.params] == ["i", "o"]
    assert item.init.body.block_items[0].name == "t"


def test_a_generic_lambda() -> None:
    (item,) = items("auto f = [&]<int I, typename T, bool B>(T x) { s[I] = x; };")
    assert [param.name for param in item.init.params] == ["x"]


def test_a_lambda_among_arguments() -> None:
    assert len(items("each([&](auto i) { s[i] = 0; }, n);")[0].args) == 2
    assert len(items("each([&]<int I, int J>() { s[I] = J; }, n);")[0].args) == 2


def test_asm_keeps_template_and_operands() -> None:
    body = r"""asm volatile("ld.shared.u32 %0, " "[%1];\n" : "=r"(x[0]), "+f"(y)
        : "r"(q + 1), "n"(3) : "memory");"""
    (item,) = items(body)
    assert item.template == r"ld.shared.u32 %0, [%1];\n"
    assert [operand.constraint for operand in item.outputs] == ["=r", "+f"]
    assert [operand.constraint for operand in item.inputs] == ["r", "n"]
    assert isinstance(item.outputs[0].expr, ir.ArrayRef)


def test_asm_names_become_numbers() -> None:
    (item,) = items('asm("mov %[out], %[in];" : [out] "=r"(x) : [in] "r"(y));')
    assert item.template == "mov %0, %1;"


def test_asm_without_outputs_and_with_a_raw_string() -> None:
    (item,) = items('asm(R"(st "a" \\n)" :: "r"(y));')
    assert (len(item.outputs), len(item.inputs)) == (0, 1)
    assert item.template == r"st \"a\" \\n"


def test_if_constexpr_shows() -> None:
    (item,) = items("if constexpr (N > 3) { n = 1; } else n = 2;")
    assert item.is_constexpr
    assert ir_text.printed(item.cond) == "N > 3"
    assert item.iftrue is not None
    assert item.iffalse is not None


@pytest.mark.parametrize(
    "source", ["if (int x = f(); x < 3) n = 1;", "if (int x = f()) n = 1; else n = 2;"]
)
def test_what_an_if_declares_stands_before_it(source: str) -> None:
    (block,) = items(source)
    declaration, condition = block.block_items
    assert declaration.name == "x"
    assert isinstance(condition, ir.If)


def test_a_range_for() -> None:
    (loop,) = items("for (auto& x : r) x = 1;")
    assert isinstance(loop, ir.RangeFor)
    assert loop.decl.name == "x"
    assert loop.decl.init.range.name == "r"


def test_a_structured_binding() -> None:
    one, two = items("auto& [a, b] = f(n);")
    assert (one.name, two.name) == ("a", "b")
    assert [node.init.index for node in (one, two)] == [0, 1]
    assert [ir_text.printed(node.init.value) for node in (one, two)] == ["f(n)", "f(n)"]


@pytest.mark.parametrize(
    ("before", "source"),
    [
        ("", "\n#pragma unroll 4\nfor (;;) n = 1;\n"),
        ('#define UNROLL _Pragma("unroll 4")', "UNROLL for (;;) n = 1;"),
        ("#define UNROLL #pragma unroll 4", "UNROLL for (;;) n = 1;"),
        ("#define UNROLL #pragma unroll 4", "UNROLL\nfor (;;) n = 1;"),
    ],
)
def test_a_loop_keeps_the_pragma_before_it(before: str, source: str) -> None:
    (loop,) = items(source, before=before)
    assert isinstance(loop, ir.For)
    assert loop.pragma == "unroll 4"


def test_a_pragma_below_an_if() -> None:
    (choice,) = items("if (n)\n#pragma unroll\nfor (;;) n = 1;\n")
    (loop,) = choice.iftrue.block_items
    assert isinstance(loop, ir.For)
    assert loop.pragma == "unroll"


@pytest.mark.parametrize(
    "source", ["CHECK T x = 1;", "CHECK(n) const T x = 1;", "PART const x = 1;"]
)
def test_an_upper_case_macro_before_a_declaration(source: str) -> None:
    (item,) = items(source)
    assert (item.name, item.type.type.names) == ("x", ("PART" if "PART" in source else "T",))


def test_a_macro_before_specifiers_of_a_file_scope_constant() -> None:
    unit = load_unit(
        "k.cu", "API_EXPORT __device__ constexpr T x = 1;", LoadOptions(read=lambda _: None)
    )
    assert unit.declarations["x"][0].parse().type.type.names == ("T",)


def test_a_logical_template_argument_of_an_alias() -> None:
    assert items("using V = std::bool_constant<N == 1 && M <= 64>;")[0].name == "V"


def test_an_unknown_statement_macro_is_passed_over() -> None:
    assert isinstance(items("UNROLL_ALL for (;;) n = 1;")[0], ir.For)


def test_switch_labels_and_jumps() -> None:
    body = """switch (n) { case A::B: { n = 1; break; } case 'a': case 1 ? 2 : 3: n = 2;
        default: ; } again: if (n) goto again; do { n--; continue; } while (n > 0); return;"""
    switch, label, loop, end = items(body)
    assert [type(node).__name__ for node in (switch, label, loop, end)] == [
        "Switch", "Label", "DoWhile", "Return",
    ]  # fmt: skip
    cases = [node for node in switch.stmt.block_items if isinstance(node, ir.Case)]
    assert len(cases) == 3


def test_try_and_catch() -> None:
    (found,) = items("try { n = 1; } catch (const E &e) { n = 2; } catch (...) { throw; }")
    blocks = [found.body, *(handler.iftrue for handler in found.handlers)]
    assert [[type(item).__name__ for item in block.block_items] for block in blocks] == [
        ["Assignment"], ["Decl", "Assignment"], ["Throw"],
    ]  # fmt: skip


def test_parameters() -> None:
    head = "template <class... A> __global__ void k(const float* __restrict__ p, T& r, int = 3,"
    head += " float (&v)[4] = w, int m = 2 * N, A... a)"
    function = parsed("p = 0;", head=head)
    params = function.tree.type.params
    assert [p.name for p in params] == ["p", "r", "__unnamed2", "v", "m", "a"]
    assert params[2].init.value == "3"
    assert params[3].init.name == "w"
    assert isinstance(params[4].init, ir.BinaryOp)
    assert params[0].type.quals == ("__restrict__",)
    assert params[0].type.type.quals == ("const",)
    assert function.dropped == ()


def test_no_parameters_and_the_result_type() -> None:
    tree = parsed("return p;", head="__device__ const float4* f(void)").tree
    assert tree.name == "f"
    result = tree.type.type
    assert isinstance(result, ir.PtrDecl)
    assert result.type.type.names == ("float4",)


def test_a_constructor_begins_with_its_initializers() -> None:
    before = "struct S { int a, b; __device__ S(int n) : a(n), b{2} { a = 1; } };"
    unit = load_unit("k.cu", before, LoadOptions(read=lambda _: None))
    body = unit.functions[0].parse().tree.body.block_items
    assert [ir_text.printed(call) for call in body[:2]] == [
        "a(n)", "b(2)",
    ]  # fmt: skip


def test_a_local_record_keeps_members_in_order_and_its_alignment() -> None:
    body = """struct __align__(16) S { static constexpr int N = 4; using V = float4; V v[N];
        int f() { return N; } int b : 3; float x = 1; } s;"""
    (item,) = items(body)
    record = item.type.type
    assert [m.name for m in record.decls] == ["N", "V", "v", "b", "x"]
    assert record.decls[0].storage == ("static", "constexpr")
    assert record.decls[0].init.value == "4"
    assert isinstance(record.decls[1], ir.Typedef)
    assert record.align[0].value == "16"
    assert record.decls[3].bitsize.value == "3"
    assert record.decls[4].init.value == "1"
    assert not any(m.align for m in record.decls[3:])


def test_a_record_with_an_initialized_first_member_keeps_its_alignment() -> None:
    (item,) = items("struct alignas(16) S { int a = 1; int b; } s;")
    assert item.type.type.align[0].value == "16"
    assert not any(member.align for member in item.type.type.decls)


def test_the_alignment_of_a_record_is_that_of_none_of_its_members() -> None:
    source = (
        "struct __align__(16) S { float x, y = 2, z[2]; }; typedef struct alignas(8) { int q; } T;"
    )
    unit = load_unit("k.cu", source, LoadOptions(read=lambda _: None))
    record = unit.records["S"][0].parse()
    assert record is not None
    assert [(m.name, bool(m.align)) for m in record.decls] == [
        ("x", False), ("y", False), ("z", False),
    ]  # fmt: skip
    assert record.align[0].value == "16"
    other = unit.records["T"][0].parse()
    assert other is not None
    assert other.align[0].value == "8"


def test_names_of_values_are_no_templates() -> None:
    before = "const int N = 3; enum { K = 2 }; struct S { static constexpr int M = 1; };"
    assert printed("f(N < n, M > (n));", before=before) == "f(N < n, M > n)"
    assert printed("f(K < n, n > (3));", before=before) == "f(K < n, n > 3)"
    assert printed("f(g < n, h > (3));", before=before) == "f(g<n, h>(3))"


def test_a_reference_to_a_type_that_typename_announces() -> None:
    assert items("typename L::S (&x) = a.get<typename L::S>();")[0].name == "x"


def test_an_empty_record() -> None:
    (item,) = items("struct S { int f(); } s;")
    assert item.type.type.decls == ()


def test_a_shared_union_and_an_enum() -> None:
    union, kinds = items("__shared__ union { int i; float f; } u; enum E { A = 3, B };")
    assert union.storage == ("__shared__",)
    assert [m.name for m in union.type.type.decls] == ["i", "f"]
    assert [e.name for e in kinds.type.enumerators] == ["A", "B"]


def test_a_local_typedef_constructs() -> None:
    *_, last = items("typedef cub::Scan<int> Scan; __shared__ Scan::Temp t; Scan(t).Sum(n);")
    assert last.name.name.type.names == ("Scan",)


def test_a_record_of_the_file() -> None:
    source = """struct S { static constexpr int N = 4; using T = float; T a[N]; S(); ~S();
        struct In { int q; } in; union { int i; float f; }; void f() const { a[0] = 1; } };"""
    unit = load_unit("k.cu", source, LoadOptions(read=lambda _: None))
    record = unit.records["S"][0].parse()
    assert [m.name for m in record.decls] == ["N", "T", "a", "in", ""]


def test_macros_in_an_index() -> None:
    before = "#define AT(r, c) ((r) * 33 + (c))\n#define F4(v) (reinterpret_cast<float4*>(&(v))[0])"
    assert printed("s[AT(n, 1)] = 0;", before=before) == "s[(n * 33) + 1] = 0"
    assert printed("F4(s[n]) = F4(p[n + 1]);", before=before) == (
        "((float4 *) (&s[n]))[0] = ((float4 *) (&p[n + 1]))[0]"
    )


def test_a_statement_expression_left_by_a_jump_loses_its_statement_only() -> None:
    function = parsed("int a = n; printf(({ if (n) return; n; })); int b = a;")
    (lost,) = function.dropped
    assert "({" in str(lost.reason)
    assert [d.name for d in function.tree.body.block_items if isinstance(d, ir.Decl)] == ["a", "b"]
