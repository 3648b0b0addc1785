"""Where an exception was raised."""

from kingpost.base.raised import in_words, path_of


def inner():
    raise LookupError("not there")


def test_the_way_of_an_exception_ends_where_it_was_raised():
    try:
        inner()
    except LookupError as error:
        places = [place for place, _ in path_of(error)]
        words = in_words(error)
    assert [place.function for place in places] == ["test_the_way_of_an_exception_ends_where_it_was_raised", "inner"]
    assert places[-1].line == inner.__code__.co_firstlineno + 1
    assert str(places[-1]) == f"{__file__}, line {places[-1].line}, in inner"
    assert words == "LookupError: not there"
    assert in_words(KeyError()) == "KeyError"
