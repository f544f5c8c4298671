"""What a ``python("pkg>=1.2,<3")`` probe asks for: a distribution's name and bounds on its version."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from attrs import frozen

from tessera_rules.model.terms import Version

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[[A-Za-z0-9,._ -]*\])?\s*\(?([^()]*)\)?\s*")
_BOUND = re.compile(r"\s*(===|~=|==|!=|>=|<=|<|>)\s*([A-Za-z0-9][A-Za-z0-9._+!-]*(?:\.\*)?)\s*")
_ORDER: dict[str, Callable[[Version, Version], bool]] = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def normal_name(name: str) -> str:
    """Return a distribution's name as indexes write it.

    >>> normal_name("Ruamel_Yaml")
    'ruamel-yaml'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


@frozen
class Requirement:
    """A distribution (by its normal name) and the bounds that its version must keep."""

    name: str
    bounds: tuple[tuple[str, str], ...]

    def met_by(self, version: str) -> bool:
        """Return whether a version keeps every bound.

        >>> parse_requirement("torch>=2.9,<3").met_by("2.10.1"), parse_requirement("torch~=2.1.0").met_by("2.2")
        (True, False)
        """
        return all(_holds(word, bound, version) for word, bound in self.bounds)


def parse_requirement(text: str) -> Requirement | None:
    """Return the requirement that a text states, or None where it is none.

    >>> parse_requirement("torch >= 2.9, != 2.9.1")
    Requirement(name='torch', bounds=(('>=', '2.9'), ('!=', '2.9.1')))
    >>> parse_requirement("torch >= ") is None
    True
    """
    match = _REQUIREMENT.fullmatch(text)
    if match is None:
        return None
    bounds: list[tuple[str, str]] = []
    for part in match[2].split(",") if match[2].strip() else []:
        bound = _BOUND.fullmatch(part)
        if bound is None or (bound[2].endswith(".*") and bound[1] not in ("==", "!=")):
            return None
        bounds.append((bound[1], bound[2]))
    return Requirement(normal_name(match[1]), tuple(bounds))


def _holds(word: str, bound: str, version: str) -> bool:
    here = Version(version.partition("+")[0])  # a local part, as in 2.9.1+cu128, is no component
    match word:
        case "===":
            return version == bound
        case "==" | "!=":
            same = _starts(here, bound[:-2]) if bound.endswith(".*") else here == Version(bound.partition("+")[0]) and ("+" not in bound or version == bound)
            return same is (word == "==")
        case "~=":
            return here >= Version(bound) and _starts(here, bound.rpartition(".")[0] or bound)
    return _ORDER[word](here, Version(bound))


def _starts(version: Version, prefix: str) -> bool:
    """Whether the components of a version begin with those of a prefix; what is absent is 0."""
    wanted = [int(part) for part in re.findall(r"\d+", prefix)]
    have = [value for _, value in version.key]
    return [*have, *[0] * len(wanted)][: len(wanted)] == wanted
