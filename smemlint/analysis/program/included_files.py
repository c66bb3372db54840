"""Which files of a run an `#include` names, found without reading anything else."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence

from smemlint.frontend.cuda.preprocessor.cutlass_headers import is_of_cutlass, is_within_cutlass
from smemlint.frontend.cuda.preprocessor.includes import nearby
from smemlint.frontend.cuda.preprocessor.system_headers import is_of_system, may_be_of_project


class IncludedFiles:
    """Finds includes among the files of a run, where the preprocessor looks for them, too.

    It looks from the includer on, since the root is not known yet.

    Args:
        paths: of the files.
        given: the include folders that the settings and the build of a file give.
    """

    def __init__(self, paths: Iterable[str], given: Callable[[str], Sequence[str]]) -> None:
        self._paths = frozenset(paths)
        self._given = given
        self._by_base_name: dict[str, list[str]] = {}
        self._near: dict[str, list[str]] = {}
        for path in paths:
            self._by_base_name.setdefault(posixpath.basename(path), []).append(path)

    def nearest(self, name: str, includer: str) -> str | None:
        """Returns the file that an include may name, of several the nearest to the includer."""
        alike = self._alike(posixpath.normpath(name))
        return max(alike, key=lambda p: len(posixpath.commonprefix((p, includer))), default=None)

    def only(self, name: str) -> str | None:
        """Returns the one file that `<name.h>` or `<folder/name>` may name.

        The build names its folder: `<project/types.hpp>` is in `common/base/include/project`.
        """
        is_asked_for = "/" in name or may_be_of_project(name)
        alike = self._alike(posixpath.normpath(name)) if is_asked_for else ()
        return alike[0] if len(alike) == 1 else None

    def find(self, name: str, includer: str, *, is_quoted: bool) -> str | None:
        """Returns the file that an include names; None for one that is of no file of the run.

        Headers of the toolkit and of CuTe are known without their text, and not read.
        """
        if not is_quoted and (is_of_system(name) or is_of_cutlass(name)):
            return None
        name = posixpath.normpath(name.replace("\\", "/"))
        path = self._beside(name, includer) if is_quoted else None
        path = path or self._in_folders(name, includer, is_quoted)
        if path is None:
            path = self.nearest(name, includer) if is_quoted else self.only(name)
        is_modelled = path is not None and is_of_cutlass(name) and is_within_cutlass(path)
        return None if is_modelled else path

    def _beside(self, name: str, includer: str) -> str | None:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(includer), name))
        return path if path in self._paths else None

    def _in_folders(self, name: str, includer: str, is_quoted: bool) -> str | None:
        """Searches the folders near the includer, then those of its build.

        A name like `<vector>` is that of the C++ library unless the build has it.
        """
        alike = {path[: -len(name)]: path for path in self._alike(name)}
        if not alike:
            return None
        is_near = is_quoted or "." in posixpath.basename(name) or "/" in name
        found = _first(alike, self._folders_near(includer) if is_near else ())
        if found is None and not is_quoted:
            given = (posixpath.normpath(folder) + "/" for folder in self._given(includer))
            found = _first(alike, given)
        return found

    def _alike(self, name: str) -> list[str]:
        alike = self._by_base_name.get(posixpath.basename(name), ())
        return [path for path in alike if path == name or path.endswith("/" + name)]

    def _folders_near(self, includer: str) -> list[str]:
        folder = posixpath.dirname(includer)
        if folder not in self._near:
            near = (posixpath.normpath(f) for f in nearby(includer))
            self._near[folder] = ["" if f == "." else f + "/" for f in dict.fromkeys(near)]
        return self._near[folder]


def _first(alike: Mapping[str, str], folders: Iterable[str]) -> str | None:
    return next((alike[folder] for folder in folders if folder in alike), None)
