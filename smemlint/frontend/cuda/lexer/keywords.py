"""Words of CUDA C++ and the grammar roles (pycparser's token types) that they take."""

from __future__ import annotations

BUILTIN_TYPES = {
    "void": "VOID", "bool": "_BOOL", "char": "CHAR", "short": "SHORT", "int": "INT",
    "long": "LONG", "float": "FLOAT", "double": "DOUBLE", "signed": "SIGNED",
    "unsigned": "UNSIGNED", "__int128": "__INT128", "_Bool": "_BOOL",
}  # fmt: skip

_VECTOR_BASES = (
    "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong",
    "float", "double",
)  # fmt: skip
KNOWN_TYPES = frozenset((
    *(f"{base}{n}" for base in _VECTOR_BASES for n in "1234"),
    "half", "half2", "__half", "__half2", "nv_half", "__nv_bfloat16", "__nv_bfloat162",
    "nv_bfloat16", "nv_bfloat162", "bf16", "dim3", "uint", "ushort", "uchar", "ulong",
    "cuComplex", "cuDoubleComplex", "cufftComplex", "FILE", "__nv_fp8_e4m3",
    "__nv_fp8_e5m2",
))  # fmt: skip

STORAGE = {
    "static": "STATIC", "register": "STATIC", "mutable": "STATIC", "constinit": "STATIC",
    "consteval": "STATIC", "constexpr": "STATIC", "thread_local": "STATIC",
    "__constant__": "STATIC", "__managed__": "STATIC", "extern": "EXTERN", "typedef": "TYPEDEF",
    "__shared__": "_THREAD_LOCAL",
}  # fmt: skip
FUNCTION_SPECIFIERS = frozenset((
    "inline", "__inline__", "__inline", "__forceinline__", "__noinline__", "__device__",
    "__host__", "__global__", "explicit", "virtual", "friend", "_Noreturn",
))  # fmt: skip
QUALIFIERS = frozenset((
    "const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__",
    # The same, where CUTLASS's headers were not read.
    "CUTLASS_GRID_CONSTANT", "CUTE_GRID_CONSTANT",
))  # fmt: skip
ATTRIBUTES = frozenset((
    "alignas", "__align__", "__attribute__", "__attribute", "__launch_bounds__", "__declspec",
    "__cluster_dims__", "_Alignas", "__maxnreg__", "__block_size__",
))  # fmt: skip
ALIGNMENTS = frozenset(("alignas", "__align__", "_Alignas"))
ALIGNED = frozenset(("aligned", "__aligned__", "align"))
"""Words in `__attribute__((..))` and `__declspec(..)`."""
PACKED = frozenset(("packed", "__packed__"))
RECORD_WORDS = frozenset(("struct", "class", "union", "enum"))
CASTS = frozenset(("static_cast", "reinterpret_cast", "const_cast", "dynamic_cast"))
STATEMENT_WORDS = frozenset((
    "if", "for", "while", "do", "switch", "case", "default", "return", "break", "continue",
    "goto", "try", "catch", "throw", "else", "delete", "new", "sizeof", "this", "operator",
    "asm", "__asm__", "__asm", "using", "static_assert", "public", "private", "protected",
    "co_return", "co_await", "template", "typename",
))  # fmt: skip
ALTERNATIVE_OPERATORS = {
    "and": "&&", "or": "||", "not": "!", "bitand": "&", "bitor": "|", "xor": "^", "compl": "~",
    "and_eq": "&=", "or_eq": "|=", "xor_eq": "^=", "not_eq": "!=",
}  # fmt: skip

OPERATORS = {
    "<<=": "LSHIFTEQUAL", ">>=": "RSHIFTEQUAL", "++": "PLUSPLUS", "--": "MINUSMINUS",
    "->": "ARROW", "&&": "LAND", "||": "LOR", "<<": "LSHIFT", ">>": "RSHIFT", "<=": "LE",
    ">=": "GE", "==": "EQ", "!=": "NE", "*=": "TIMESEQUAL", "/=": "DIVEQUAL", "%=": "MODEQUAL",
    "+=": "PLUSEQUAL", "-=": "MINUSEQUAL", "&=": "ANDEQUAL", "|=": "OREQUAL", "^=": "XOREQUAL",
    "=": "EQUALS", "+": "PLUS", "-": "MINUS", "*": "TIMES", "/": "DIVIDE", "%": "MOD",
    "|": "OR", "&": "AND", "~": "NOT", "^": "XOR", "!": "LNOT", "<": "LT", ">": "GT",
    "?": "CONDOP", "(": "LPAREN", ")": "RPAREN", "[": "LBRACKET", "]": "RBRACKET",
    "{": "LBRACE", "}": "RBRACE", ",": "COMMA", ".": "PERIOD", ";": "SEMI", ":": "COLON",
}  # fmt: skip


def is_known_type(name: str) -> bool:
    """Returns whether a name is a type by itself: built in, a vector, or of the form `word_t`."""
    last = name.rsplit("::", 1)[-1]
    return (
        name in BUILTIN_TYPES
        or last in KNOWN_TYPES
        or (last.endswith("_t") and len(last) > 2)
        or last in ("element_type", "value_type")
    )
