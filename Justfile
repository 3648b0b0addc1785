# What one does every day. `just` lists the recipes; it comes with pip install ".[dev]".
python := "python"

_list:
    @just --list --unsorted

# every test but the long validation, as .ci/run does
test *words:
    {{python}} -m pytest {{words}}

# lint, rooms, and the tests of core and plugins: a minute or two
fast *words:
    {{python}} -m ruff check .
    {{python}} -m ruff format --check .
    {{python}} tools/rooms.py
    {{python}} -m pytest -q tests/core tests/plugins tests/packaging/test_rooms.py {{words}}

# the long validation
slow *words:
    {{python}} -m pytest -m slow {{words}}

# the documentation site, into build/site; strict, and without a network
docs *words:
    {{python}} tools/build_docs.py {{words}}

# what the documentation says, held against the code; roads and rooms followed
check_docs:
    {{python}} tools/rooms.py
    {{python}} tools/walk.py --roads
    {{python}} -m pytest -q tests/docs tests/packaging/test_rooms.py tests/examples

# the tables of rooms, READMEs and the JSON Schema of model files, written anew
write:
    {{python}} tools/rooms.py --write
    KINGPOST_LOAD_PLUGINS= {{python}} -m kingpost models --schema > core/modelfiles/model.schema.json

# side-by-side measurements against peers, e.g. just bench dae
bench name="vessel_crane":
    {{python}} benchmarks/{{name}}.py

# which branches the tests take: a report in htmlcov/, no gate
coverage *words:
    {{python}} -m pytest --cov --cov-report=term:skip-covered --cov-report=html {{words}}

# misspelt words
spell:
    codespell

# strict types, of the package as it is installed
types:
    cd {{justfile_directory()}}/docs && {{python}} -m mypy --config-file ../pyproject.toml -p kingpost

# everything that must pass, in an environment of its own
ci:
    .ci/run
