"""Lines of tables and keys in TOML text."""

from kingpost.base.toml import LineIndex, tomllib


def test_lines_are_found_through_strings_comments_and_nested_arrays():
    text = "\n".join(
        [
            'a = """',  # 1
            "[not.a.table]",
            'b = 2"""',
            "c = [ # ] a bracket in a comment",  # 4
            "  { x = 1 },",
            "  { x = '}', y = [1, 2] },",  # 6
            "]",
            "[[d.e]]",  # 8
            'f."g h" = 1',
            "[d.e.k]",  # 10
            "l = 1",
            "[[d.e]]",  # 12
            "f = 1",
        ]
    )
    assert tomllib.loads(text)["c"][1]["x"] == "}"
    index = LineIndex(text)
    found = {
        path: index.line(path)
        for path in [
            ("a",), ("b",), ("c", 0), ("c", 1, "x"), ("d", "e", 0, "f", "g h"), ("d", "e", 0, "k", "l"), ("d", "e", 1, "f"),
        ]
    }  # fmt: skip
    assert list(found.values()) == [1, None, 5, 6, 9, 11, 13]
