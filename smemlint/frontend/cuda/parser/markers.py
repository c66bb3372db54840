"""Names of the calls that desugaring emits where C has no construct.

`to_ir` makes nodes of them, so nothing behind the parser sees one. They begin with `<`, which no
name of a source does.
"""

from __future__ import annotations

ALIGNOF = "<alignof>"
ASSEMBLY = "<asm>"
BINDING = "<binding>"
BRACES = "<braces>"
CONSTEXPR = "<constexpr>"
CONSTRUCT = "<construct>"
"""The name of the type follows."""
DIRECT_INIT = "<direct>"
FOLD = "<fold>"
FUNCTION = "<function>"
"""The name of the function that is parsed."""
INPUT = "<input>"
LAMBDA = "<lambda>"
LAUNCH = "<launch>"
MEMBER_INIT = "<init>"
NEW = "<new>"
OTHER_MEMBERS = "<other>"
OUTPUT = "<output>"
PACK = "<pack>"
RANGE = "<range>"
RECORD = "<record>"
"""The first member of a record: its alignment.

Its bits are four times `#pragma pack`, 2 where methods are virtual, 1 where it is packed.
"""
REQUIRES = "<requires>"
SIZEOF_PACK = "<sizeof...>"
STATIC_ASSERT = "<static_assert>"
THROW = "<throw>"
TRY = "<try>"
TYPE = "<type>"
UNDERLYING = "<underlying>"
"""The first enumerator of an enum: a number that is cast to its underlying type."""
USING = "<using>"
UNPARSED = "<unparsed>"
"""A name or a type: what could not be parsed."""
