"""What the scanner finds: functions, records and declarations, as tokens that are not parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial

from smemlint.frontend.cuda.lexer.tokens import Token
from smemlint.frontend.cuda.notices import Notices
from smemlint.frontend.cuda.scanner.definition_tokens import FunctionTokens
from smemlint.frontend.cuda.scanner.name_lookup import Scopes
from smemlint.frontend.program import Enclosing, TemplateParameter
from smemlint.lazy_dataclasses import dataclass
from smemlint.limits.budgets import MAX_SCAN_NOTICES


@dataclass(slots=True)
class FoundFunction:
    """A function definition; `pieces` has its tokens, the rest is as in `program.Function`."""

    pieces: FunctionTokens
    scope: tuple[str, ...]
    specialization: str | None
    specifiers: frozenset[str]
    launch_bounds: tuple[str, ...]
    owner: FoundRecord | None


@dataclass(slots=True)
class FoundRecord:
    """A record definition; `members()` has its data members, constants, aliases and records.

    Attributes:
        attributes: tokens in front of the name and behind the body.
        pack: bytes that `#pragma pack` aligns members to at most; 0 without one.
    """

    kind: str
    name: str
    name_token: Token
    scope: tuple[str, ...]
    template: tuple[TemplateParameter, ...]
    specialization: str | None
    bases: tuple[str, ...]
    members: Callable[[], list[Token]]
    around: tuple[Enclosing, ...] = ()
    owner: FoundRecord | None = None
    attributes: list[Token] = field(default_factory=list)
    pack: int = 0


@dataclass(slots=True)
class FoundDeclaration:
    """A declaration that functions may name; `tokens` end before the `;`."""

    kind: str
    name: str
    name_token: Token
    scope: tuple[str, ...]
    template: tuple[TemplateParameter, ...]
    tokens: list[Token]
    enumerators: tuple[str, ...] = ()
    outer: tuple[TemplateParameter, ...] = ()


@dataclass(slots=True)
class Scanned:
    """What a token stream defines.

    Attributes:
        prototypes: declarations of functions without a body by name: scope and tokens.
        heads: of templates that are only declared, by name: scope and parameters.
        types, templates: names as in `pieces.KnownNames`, those only declared too.
        local_records: those inside of functions, whose methods are among `functions`.
    """

    functions: list[FoundFunction] = field(default_factory=list)
    records: list[FoundRecord] = field(default_factory=list)
    local_records: list[FoundRecord] = field(default_factory=list)
    declarations: list[FoundDeclaration] = field(default_factory=list)
    prototypes: dict[str, list[tuple[tuple[str, ...], list[Token]]]] = field(default_factory=dict)
    heads: dict[str, list[tuple[tuple[str, ...], tuple[TemplateParameter, ...]]]] = field(
        default_factory=dict
    )
    types: set[str] = field(default_factory=set)
    templates: set[str] = field(default_factory=set)
    scopes: Scopes = field(default_factory=Scopes)
    notices: Notices = field(default_factory=partial(Notices, MAX_SCAN_NOTICES))
