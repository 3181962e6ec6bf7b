"""JSON Schema of the profile files, for editors that complete and check YAML."""

from __future__ import annotations

from typing import Any, Literal

from packager.config.board import Board
from packager.config.device import DevicesFile
from packager.config.schema import Profile
from packager.config.target import Target

SchemaName = Literal["target", "board", "devices"]


def json_schema(name: SchemaName) -> dict[str, Any]:
    """The JSON Schema (2020-12) of ``targets/*.yaml``, ``boards/*.yaml`` or ``devices.yaml``."""
    if name == "devices":
        schema = DevicesFile.model_json_schema()
    else:
        model: type[Profile] = Target if name == "target" else Board
        schema = model.model_json_schema()
        required = [key for key in schema.pop("required") if key != "name"]
        schema["anyOf"] = [{"required": required}, {"required": ["schema", "extends"]}]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": f"edgepack {name}"}
