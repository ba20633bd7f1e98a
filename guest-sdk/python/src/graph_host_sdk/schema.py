"""JSON Schemas of types, and values of types from JSON.

Types are those that JSON has (`None`, `bool`, `int`, `float`, `str`, `list`, `dict`, `Any`), `Literal`, enums, unions, dataclasses and
typed dictionaries. A text in `Annotated` is a description.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import types
import typing
from typing import Any

_SIMPLE: dict[Any, dict[str, Any]] = {
    None: {"type": "null"},
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    list: {"type": "array"},
    tuple: {"type": "array"},
    dict: {"type": "object"},
    Any: {},
    object: {},
}


def schema_of(of: Any) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a type. A type that is used more than once, or in itself, is below `$defs`."""
    definitions: dict[str, Any] = {}
    schema = _schema(of, definitions, {})
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    if name in definitions and not _refers_to(definitions, name):
        schema = {**definitions.pop(name), **{key: value for key, value in schema.items() if key != "$ref"}}
    return {**schema, "$defs": definitions} if definitions else schema


def from_json(of: Any, value: Any, at: str = "params") -> Any:
    """The value of a type from what JSON has. `at` is where it stands, for errors.

    Raises `ValueError` if the value is none of the type's.
    """
    of, origin, arguments = _parts(of)
    if of in (Any, object):
        return value
    if origin is typing.Annotated:
        return from_json(arguments[0], value, at)
    if origin in (typing.Union, types.UnionType):
        return _first(arguments, value, at)
    if origin is typing.Literal:
        return _one_of(arguments, arguments, value, at)
    if isinstance(of, type) and issubclass(of, enum.Enum):
        return _one_of(tuple(of), [one.value for one in of], value, at)
    if dataclasses.is_dataclass(of):
        return _object(of, _expect(value, dict, at), at, _fields(of), of)
    if typing.is_typeddict(of):
        return _object(of, _expect(value, dict, at), at, _keys(of), dict)
    if origin is list:
        return [from_json(arguments[0], one, f"{at}[{index}]") for index, one in enumerate(_expect(value, list, at))]
    if origin is tuple and arguments[1:] == (...,):
        return tuple(from_json(list[arguments[0]], value, at))
    if origin is dict:
        return {key: from_json(arguments[1], one, f"{at}.{key}") for key, one in _expect(value, dict, at).items()}
    if of is float:
        return float(_expect(value, (int, float), at))
    if of in (None, type(None)):
        return _expect(value, type(None), at)
    return tuple(_expect(value, list, at)) if of is tuple else _expect(value, of, at)


def to_json(value: Any) -> Any:
    """What JSON has in place of a value: dictionaries in place of dataclasses, and values in place of enums."""
    if isinstance(value, enum.Enum):
        return to_json(value.value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # As in the schema: what is no parameter of the class is no part of the value.
        return {field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value) if field.init}
    if isinstance(value, dict):
        return {_key(key): to_json(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(one) for one in value]
    return value


def _key(key: Any) -> str:
    key = key.value if isinstance(key, enum.Enum) else key
    if not isinstance(key, str):
        raise TypeError(f"{key!r} is a key, and JSON has texts alone as keys")
    return key


def _one_of(known: Any, values: Any, value: Any, at: str) -> Any:
    for one, written in zip(known, values):
        written = to_json(written)
        if type(written) is type(value) and written == value:
            return one
    raise ValueError(f"{at}: {value!r} is none of {', '.join(repr(to_json(one)) for one in values)}")


_ORIGINS = {collections.abc.Sequence: list, collections.abc.Mapping: dict}
_ARGUMENTS: dict[Any, tuple[Any, ...]] = {list: (Any,), dict: (str, Any)}
_NOT_REQUIRED, _REQUIRED = getattr(typing, "NotRequired", None), getattr(typing, "Required", None)


def _parts(of: Any) -> tuple[Any, Any, tuple[Any, ...]]:
    """A type without what only names it or says whether it has to be there, what it is made of, and its arguments."""
    while True:
        origin = typing.get_origin(of)
        if hasattr(of, "__supertype__"):
            of = of.__supertype__
        elif origin is not None and origin in (_NOT_REQUIRED, _REQUIRED):
            of = typing.get_args(of)[0]
        else:
            origin = _ORIGINS.get(origin, origin)
            return of, origin, typing.get_args(of) or _ARGUMENTS.get(origin, ())


def _schema(of: Any, definitions: dict[str, Any], known: dict[Any, str]) -> dict[str, Any]:
    of, origin, arguments = _parts(of)
    try:
        if of in _SIMPLE:
            return dict(_SIMPLE[of])
    except TypeError:
        pass
    if origin is typing.Annotated:
        schema = _schema(arguments[0], definitions, known)
        texts = [text for text in arguments[1:] if isinstance(text, str)]
        return {**schema, "description": texts[0]} if texts else schema
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema(one, definitions, known) for one in arguments]}
    if origin is typing.Literal:
        return {"enum": [to_json(one) for one in arguments]}
    if isinstance(of, type) and issubclass(of, enum.Enum):
        return {"enum": [to_json(one) for one in of]}
    if dataclasses.is_dataclass(of):
        return _named(of, _fields(of), definitions, known)
    if typing.is_typeddict(of):
        return _named(of, _keys(of), definitions, known)
    if origin is list or (origin is tuple and arguments[1:] == (...,)):
        return {"type": "array", "items": _schema(arguments[0], definitions, known)}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions, known)}
    raise TypeError(
        f"{of!r} has no JSON Schema: use str, int, float, bool, None, list, dict with text keys, Literal, an enum, a dataclass or a TypedDict"
    )


def _fields(of: Any) -> dict[str, tuple[Any, bool]]:
    """The fields of a dataclass: their types, and whether they have to be there."""
    hints = typing.get_type_hints(of, include_extras=True)
    missing = dataclasses.MISSING
    return {
        field.name: (hints[field.name], field.default is missing and field.default_factory is missing)
        for field in dataclasses.fields(of)
        if field.init
    }


def _keys(of: Any) -> dict[str, tuple[Any, bool]]:
    """The keys of a typed dictionary, likewise."""
    hints = typing.get_type_hints(of, include_extras=True)
    # Where annotations are texts, the class itself does not know.
    optional = {key for key, hint in hints.items() if typing.get_origin(hint) is _NOT_REQUIRED is not None}
    named = {key for key, hint in hints.items() if typing.get_origin(hint) is _REQUIRED is not None}
    return {key: (hint, key in named or (key in of.__required_keys__ and key not in optional)) for key, hint in hints.items()}


def _named(of: Any, members: dict[str, tuple[Any, bool]], definitions: dict[str, Any], known: dict[Any, str]) -> dict[str, Any]:
    if of in known:
        return {"$ref": f"#/$defs/{known[of]}"}
    name, number = of.__name__, 2
    while name in known.values():
        name, number = f"{of.__name__}{number}", number + 1
    known[of] = name
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: _schema(hint, definitions, known) for key, (hint, _) in members.items()},
        "additionalProperties": False,
    }
    required = [key for key, (_, is_required) in members.items() if is_required]
    if required:
        schema["required"] = required
    # A dataclass has a docstring of its own making: its signature.
    described = of.__doc__ if of.__doc__ and not of.__doc__.startswith(f"{of.__name__}(") else None
    if described:
        schema["description"] = " ".join(described.split())
    definitions[name] = schema
    return {"$ref": f"#/$defs/{name}"}


def _refers_to(definitions: dict[str, Any], name: str) -> bool:
    wanted = f"#/$defs/{name}"

    def refers(part: Any) -> bool:
        if isinstance(part, dict):
            return part.get("$ref") == wanted or any(refers(one) for one in part.values())
        return isinstance(part, list) and any(refers(one) for one in part)

    return refers(definitions)


def _first(options: tuple[Any, ...], value: Any, at: str) -> Any:
    reasons = []
    # Every integer is a number, too: it stays exact where it may be one.
    for option in sorted(options, key=lambda option: option is float):
        try:
            return from_json(option, value, at)
        except ValueError as error:
            reasons.append(str(error))
    raise ValueError("; ".join(reasons))


def _object(of: Any, value: dict[str, Any], at: str, members: dict[str, tuple[Any, bool]], make: Any) -> Any:
    unknown = sorted(set(value) - set(members))
    if unknown:
        raise ValueError(f"{at}: `{unknown[0]}` is no key of {of.__name__}")
    missing = [key for key, (_, is_required) in members.items() if is_required and key not in value]
    if missing:
        raise ValueError(f"{at}: `{missing[0]}` is missing")
    return make(**{key: from_json(members[key][0], one, f"{at}.{key}") for key, one in value.items()})


def _expect(value: Any, of: Any, at: str) -> Any:
    wanted = of if isinstance(of, tuple) else (of,)
    if of is int and isinstance(value, float) and value.is_integer():
        return int(value)
    # In Python a truth value is a number; in JSON it is none.
    if isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool)):
        return value
    names = " or ".join(one.__name__ for one in wanted)
    raise ValueError(f"{at}: {type(value).__name__} where {names} has to be")
