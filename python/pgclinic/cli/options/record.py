"""Commands as records: the fields of a record are the options of its command, its docstring is the help.

A field with ``typer.Option`` or ``typer.Argument`` in its annotation is an option. A field whose type is such a record
itself is a group of options, which several commands share. A command that needs other words for an option of a group
derives a record from it and declares the field again.

All of them are built whenever the command starts, so what costs time is left out: the files with records evaluate their
annotations once, without ``from __future__ import annotations``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from inspect import Parameter, Signature
from types import GenericAlias
from typing import Annotated, Any, TypeGuard, TypeVar, cast, dataclass_transform, get_args, get_origin

import typer

Request = TypeVar("Request")
#: A field of this type holds the options that the user wrote on the command line, such as --budget.
Written = Annotated[frozenset[str], "written"]


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(kind: type[Request]) -> type[Request]:
    """Make a frozen record of a class; nobody compares or prints one, and each method that is made takes time."""
    return dataclass(frozen=True, kw_only=True, eq=False, repr=False)(kind)


def command_of(kind: type[Request]) -> Callable[..., Request]:
    """Return the function that typer makes a command of: its parameters are the options, and it returns the record."""

    def read(context: typer.Context, **values: Any) -> Request:
        return _filled(kind, values, _written(context))

    context = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    signature = Signature([context, *_parameters(kind)])
    read.__doc__ = kind.__doc__
    read.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    read.__signature__ = signature  # type: ignore[attr-defined]
    return read


def _parameters(kind: type[Any]) -> Iterator[Parameter]:
    """Yield the options of a record in the order of its fields, each group in the place of its field."""
    for field in fields(kind):
        if _is_group(field.type):
            yield from _parameters(field.type)
        elif field.type != Written:
            yield _parameter(field)


def _parameter(field: Field[Any]) -> Parameter:
    kind, option = get_args(field.type)
    default: Any = Parameter.empty if field.default is MISSING else field.default
    if get_origin(kind) is tuple:
        # typer knows lists alone; a frozen record holds what cannot change.
        kind, default = GenericAlias(list, get_args(kind)[:1]), list(default)
    return Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _filled(kind: type[Request], values: Mapping[str, Any], written: frozenset[str]) -> Request:
    """Return a record of this kind, and in it its groups, with the values that typer has read."""
    found: dict[str, Any] = {}
    for field in fields(cast("type[Any]", kind)):
        if _is_group(field.type):
            found[field.name] = _filled(field.type, values, written)
        elif field.type == Written:
            found[field.name] = written
        else:
            value = values[field.name]
            found[field.name] = tuple(value) if isinstance(value, list) else value
    return kind(**found)


def _is_group(kind: object) -> TypeGuard[type[Any]]:
    return isinstance(kind, type) and is_dataclass(kind)


def _written(context: typer.Context) -> frozenset[str]:
    """Return the long names of the options that stand on the command line, and the names of its arguments."""
    return frozenset(
        max(option.opts, key=len) for option in context.command.params if _stands_there(context, option.name or "")
    )


def _stands_there(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
