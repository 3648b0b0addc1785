"""The numbers of all figures and tables of the five documents, as found in their texts; tables begin with T."""


def _chapter(number, last):
    return [f"{number}.{k}" for k in range(1, last + 1)]


CAPTIONS = {
    "000": [
        *_chapter(2, 11),
        *_chapter(3, 8),
        *_chapter(4, 9),
        *_chapter(5, 16),
        *_chapter(6, 30),
        "T2.1",
        "T2.2",
        "T3.1",
        "T3.2",
        "T4.1",
    ],
    "001": [*_chapter(4, 9), *_chapter(5, 2), *_chapter(6, 9), *_chapter(7, 6), *_chapter(8, 8), "T4.1", "T6.1"],
    "002": [*_chapter(1, 4), *_chapter(2, 9), *_chapter(4, 21), *_chapter(5, 23), "T4.1", "T4.2", "T5.1"],
    "003": [*map(str, range(1, 12)), "T1", "T2"],
    "004": [*map(str, range(1, 8)), "TI"],
}
