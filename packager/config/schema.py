"""The common base of the profile models, and pydantic's findings turned into :class:`~packager.errors.Problem` rows."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema, model_validator

from packager.config.yaml_source import Document, KeyPath
from packager.errors import ConfigError, Problem

SCHEMA_VERSION = 1


class Strict(BaseModel):
    """Frozen, no coercion, no unknown keys; ``model_validate(x.model_dump(mode="json"))`` gives ``x`` back."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, serialize_by_alias=True)

    @model_validator(mode="before")
    @classmethod
    def _sequences_are_tuples(cls, data: Any) -> Any:
        """JSON has lists where the models have tuples."""
        if not isinstance(data, dict):
            return data
        return {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}


class Profile(Strict):
    """What every profile file has."""

    schema_version: Literal[1] = Field(alias="schema", description="version of this file format")
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", description="the file's name without .yaml")
    description: str = Field(description="one line for lists", min_length=1)
    extends: str | None = Field(
        default=None, description="a profile this one changes; mappings merge, the rest replaces"
    )


def _split(value: object) -> object:
    """A command line in one string as a tuple of words."""
    import shlex

    return tuple(shlex.split(value)) if isinstance(value, str) else value


Command = Annotated[
    tuple[str, ...],
    BeforeValidator(_split),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""A pydantic field type: a command as a string (split as a shell would) or as a list of words."""

ModelT = TypeVar("ModelT", bound=BaseModel)


def validate(model: type[ModelT], document: Document) -> ModelT:
    """``document`` as a ``model``; ConfigError with all its problems, each with ``file:line``."""
    try:
        return model.model_validate(dict(document.data))
    except ValidationError as error:
        found = [_problem(model, document, item) for item in error.errors(include_url=False)]
        raise ConfigError(_in_file_order(found)) from None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?``, or the known words when none is near; empty when nothing is known."""
    options = sorted(known)
    near = difflib.get_close_matches(word, options, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{near[0]}'?"
    return f"known: {', '.join(options)}" if options else ""


def _problem(model: type[BaseModel], document: Document, item: Mapping[str, Any]) -> Problem:
    path, kind = tuple(item["loc"]), str(item["type"])
    where = str(document.position(path))
    name = ".".join(str(part) for part in path)
    if kind == "extra_forbidden":
        hint = did_you_mean(str(path[-1]), _keys_at(model, path[:-1]))
        return Problem("EP0303", f"unknown key '{name}'", where, hint)
    if kind == "missing":
        return Problem("EP0305", f"key '{name}' is missing", where)
    if path == ("schema",):
        return Problem(
            "EP0306",
            f"schema {item['input']} is not known to this version",
            where,
            f"this version reads schema {SCHEMA_VERSION}",
        )
    message, hint = _message(item)
    return Problem("EP0304", f"{name}: {message}" if name else message, where, hint)


def _message(item: Mapping[str, Any]) -> tuple[str, str]:
    """What is wrong with a value, in lower case, and a hint."""
    context = item.get("ctx", {})
    given = item["input"]
    if item["type"] == "literal_error":
        choices = [word.strip(" '") for word in str(context["expected"]).replace(" or ", ", ").split(",")]
        return f"'{given}' is not one of the choices", did_you_mean(str(given), choices)
    if item["type"] == "value_error":
        what, _, hint = str(context["error"]).partition("\n")
        return what, hint
    message = str(item["msg"])
    message = message[:1].lower() + message[1:]
    if isinstance(given, str | int | float | bool) and not isinstance(given, Mapping):
        message += f", got {given!r}"
    return message, ""


def _keys_at(model: type[BaseModel], path: KeyPath) -> list[str]:
    """The keys a mapping at ``path`` may have."""
    current: Any = model
    for part in path:
        current = _inside(current, part)
    current = _model_in(current)
    return [field.alias or name for name, field in current.model_fields.items()] if current else []


def _inside(annotation: Any, part: str | int) -> Any:
    """The annotation of ``part`` within a model, ``dict[str, X]`` or ``tuple[X, ...]``, each perhaps ``| None``."""
    model = _model_in(annotation)
    if model is not None:
        return {field.alias or name: field.annotation for name, field in model.model_fields.items()}.get(str(part))
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is dict:
        return arguments[1]
    return arguments[0] if origin is tuple else None


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model class that ``annotation`` is, or is when it is not None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        return next((found for found in map(_model_in, typing.get_args(annotation)) if found), None)
    return None


def _in_file_order(problems: Iterable[Problem]) -> list[Problem]:
    def key(problem: Problem) -> tuple[str, int]:
        file, _, line = problem.where.rpartition(":")
        return (file, int(line))

    return sorted(problems, key=key)
