"""The schema of model files: shipped as generated, and as strict as the reader."""

import json

import jsonschema
import pytest

from kingpost.base.toml import tomllib
from kingpost.modelfiles.schema import model_schema
from tests.core.modelfiles.files import GOOD
from tests.core.modelfiles.validating import validate


def test_the_shipped_schema_is_the_generated_one(root, plugins):
    shipped = json.loads((root / "core" / "modelfiles" / "model.schema.json").read_text())
    assert shipped == json.loads(json.dumps(model_schema(plugins))), (
        "run: kingpost models --schema > core/modelfiles/model.schema.json"
    )


def test_the_schema_accepts_good_files_and_refuses_bad_ones(root, plugins):
    schema = model_schema(plugins)
    jsonschema.Draft202012Validator.check_schema(schema)
    validate(tomllib.loads(GOOD), schema)
    for path in sorted((root / "examples").glob("*.toml")):
        data = tomllib.loads(path.read_text())
        if "components" not in data:  # a coupled system has another form
            validate(data, schema)
    for old, new in [("mass = 2.0", "mas = 2.0"), ('kind = "gravity"', 'kind = "levity"'), ("[0, 1, 0]", "[0, 1]")]:
        with pytest.raises(jsonschema.ValidationError):
            validate(tomllib.loads(GOOD.replace(old, new, 1)), schema)
