"""Files against the schema, which a test of its own finds to be one: jsonschema would look at it anew for every file."""

from typing import Any

import jsonschema


def validate(data: Any, schema: Any) -> None:
    """Refuse what does not fit."""
    jsonschema.Draft202012Validator(schema).validate(data)
