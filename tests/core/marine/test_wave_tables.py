"""Tables over frequencies and headings: interpolation, symmetry, ends; dispersion; a box in closed form."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from kingpost import KingpostError
from kingpost.marine.box_hull import BoxHull
from kingpost.marine.components import WaveComponents
from kingpost.marine.interpolation import periodic_weights, weights
from kingpost.marine.wave_tables import WaveTable, wave_number


def test_cubics_are_exact_for_parabolas_and_of_third_order():
    grid, points = np.array([0.0, 0.5, 0.7, 1.6, 2.0]), np.array([0.0, 0.1, 0.6, 1.2, 1.9, 2.0])
    parabola = [1.0, -2.0, 0.7]
    assert weights(grid, points) @ np.polyval(parabola, grid) == pytest.approx(np.polyval(parabola, points), abs=1e-14)
    errors, turned = [], np.linspace(-3, 9, 500)
    for n in (24, 48):
        even = np.arange(n) * 2 * math.pi / n
        around = even + 1e-4 * np.sin(even)
        errors.append(np.abs(periodic_weights(around, turned) @ np.cos(around + 0.3) - np.cos(turned + 0.3)).max())
    # A slope misses by h^2 / 6, and that counts h s (1 - s) (1 - 2 s), at most 0.0962 h.
    assert errors[0] == pytest.approx(0.0962 / 6 * (2 * math.pi / 24) ** 3, rel=0.05)
    assert errors[0] / errors[1] == pytest.approx(8, rel=0.05)


@pytest.mark.parametrize("n", [7, 8, 24])
def test_even_headings_are_joined_by_sines_and_cosines(n):
    even, turned = 0.2 + np.arange(n) * 2 * math.pi / n, np.linspace(-3, 9, 50)

    def course(x):
        return 1.0 + 2 * np.cos(x) - np.sin(x) + 0.5 * np.sin(2 * x + 1) + 0.3 * np.cos(3 * x)

    assert periodic_weights(even, turned) @ course(even) == pytest.approx(course(turned), abs=1e-13)
    assert periodic_weights(even, even) == pytest.approx(np.eye(n), abs=1e-13)


def test_weights_of_few_points():
    points = np.zeros(6)
    assert weights(np.array([1.0]), points).tolist() == [[1.0]] * 6
    assert weights(np.array([1.0, 2.0]), np.array([1.25])) == pytest.approx(np.array([[0.75, 0.25]]))


def one_side(gap=15.0, kind="force"):
    w, b = np.linspace(0.3, 3.0, 28), np.radians(np.arange(0, 180.1, gap))
    values = np.zeros((len(w), len(b), 6), dtype=complex)
    for i, course in enumerate([np.cos, np.sin, np.ones_like, np.sin, np.cos, lambda x: np.sin(2 * x)]):
        values[:, :, i] = (1 + i + 0.3j * w[:, None]) * course(b)[None, :]
    return WaveTable(w, b, values, kind)


def test_one_side_of_a_symmetric_hull_serves_both():
    table = one_side()
    w = np.array([0.7, 0.7])
    port, starboard = table.at(w, np.array([0.9, -0.9]))
    assert starboard == pytest.approx(port * [1, -1, 1, -1, 1, -1], abs=1e-12)
    assert port[0] == pytest.approx((1 + 0.21j) * math.cos(0.9), abs=1e-12)
    assert table.around
    assert table.at(w, np.array([0.9 + 2 * math.pi, 0.9 - 4 * math.pi])) == pytest.approx(np.array([port, port]), abs=1e-12)


def test_a_hull_without_symmetry_is_not_mirrored():
    table = one_side()
    values = table.values.copy()
    values[:, 0, 1] = 2.0
    crooked = WaveTable(table.frequencies, table.headings, values)
    with pytest.raises(KingpostError, match=r"waves go to -51.57 degrees .* headings from 0 to 180 only"):
        crooked.at(np.array([0.7]), np.array([-0.9]))
    assert crooked.at(np.array([0.7]), np.array([math.pi])).shape == (1, 6)


def test_headings_outside_and_gaps_are_refused():
    table = one_side()
    few = WaveTable(table.frequencies, table.headings[9:12], table.values[:, 9:12])
    assert few.at(np.array([0.7]), np.radians([140.0]))[0] == pytest.approx(
        # A parabola through three points misses sin(2 b) by 15 degrees cubed times 8 / 9 / sqrt(3), six times that for yaw.
        table.at(np.array([0.7]), np.radians([140.0]))[0],
        abs=6 * 0.0180 * 8 / 15.6,
    )
    with pytest.raises(
        KingpostError, match=r"waves go to 180 degrees from the hull's x axis, and the table has headings from 135 to 165"
    ):
        few.at(np.array([0.7]), np.array([math.pi]))
    wide = WaveTable(table.frequencies, table.headings[[0, 4, 8, 12]], table.values[:, [0, 4, 8, 12]])
    with pytest.raises(KingpostError, match="has no heading between 60 and 120 degrees; a gap must not be wider than 45"):
        wide.at(np.array([0.7]), np.radians([100.0]))
    around_zero = WaveTable(table.frequencies, np.radians([345.0, 0.0, 15.0]), table.values[:, :3])
    assert around_zero.at(np.array([0.7]), np.radians([-7.0])).shape == (1, 6)
    with pytest.raises(KingpostError, match="has heading 0 degrees twice"):
        WaveTable(table.frequencies, np.array([0.0, 2 * math.pi]), table.values[:, :2])


def test_tables_go_on_as_physics_says_beyond_their_ends():
    w, b = np.array([0.1, 3.3, 4.0]), np.array([0.5, 0.5, 0.5])
    force = one_side().at(w, b)
    edge = one_side().at(np.array([0.3, 3.0]), np.array([0.5, 0.5]))
    assert force[0, 0] == pytest.approx(edge[0, 0] / 3)
    assert force[0, 2].real == pytest.approx(edge[0, 2].real)
    assert force[1] == pytest.approx(edge[1] * 0.5, rel=1e-12)  # half of the way out of 20 %
    assert (force[2] == 0).all()
    motion = one_side(kind="motion").at(w, b)
    assert motion[0, :2] == pytest.approx(edge[0, :2])
    drift = one_side(kind="drift").at(w, b)
    assert (drift[0] == 0).all()
    assert drift[2] == pytest.approx(edge[1])


def test_plain_data_are_the_table_again():
    table = one_side()
    again = WaveTable.from_data(table.plain_data())
    assert np.array_equal(again.values, table.values)
    with pytest.raises(KingpostError, match="has no 'frequncies'; did you mean 'frequencies'"):
        WaveTable.from_data({"frequncies": [1]})
    with pytest.raises(KingpostError, match="holds a number that is not finite"):
        WaveTable(np.array([1.0, 2.0]), np.array([0.0]), np.full((2, 1, 6), np.nan))
    with pytest.raises(KingpostError, match="must be positive and rise"):
        WaveTable(np.array([2.0, 1.0]), np.array([0.0]), np.ones((2, 1, 6)))


@pytest.mark.parametrize("depth", [0.5, 5.0, 50.0, math.inf])
def test_wave_numbers_solve_the_dispersion_relation(depth):
    w = np.array([0.01, 0.1, 0.5, 1.0, 3.0, 12.0])
    k = wave_number(w, depth)
    assert 9.81 * k * np.tanh(k * depth) == pytest.approx(w**2, rel=1e-13)
    if depth == 5.0:
        apart = [brentq(lambda x, v=v: 9.81 * x * math.tanh(5 * x) - v * v, 1e-9, 100, xtol=1e-14) for v in w]
        assert k == pytest.approx(apart, rel=1e-10)
    with pytest.raises(KingpostError, match="the depth of the water is -1 m"):
        wave_number(w, -1.0)


def pressed(box, w, b, n=40):
    """Wrench of the pressure exp(k z - i k (x cos b + y sin b)) on the faces of a box, by Gauss's rule."""
    k = w**2 / 9.81
    node, weight = np.polynomial.legendre.leggauss(n)
    x, y, z = box.length / 2 * node, box.beam / 2 * node, box.draft / 2 * (node - 1)
    wx, wy, wz = box.length / 2 * weight, box.beam / 2 * weight, box.draft / 2 * weight

    def p(x, y, z):
        return np.exp(k * z - 1j * k * (x * math.cos(b) + y * math.sin(b)))

    total = np.zeros(6, dtype=complex)

    def add(place, normal, area, pressure):
        force = -np.multiply.outer(normal, pressure * area)
        moment = np.array(
            [
                place[1] * force[2] - place[2] * force[1],
                place[2] * force[0] - place[0] * force[2],
                place[0] * force[1] - place[1] * force[0],
            ]
        )
        total[:3] += force.sum(axis=(1, 2))
        total[3:] += moment.sum(axis=(1, 2))

    X, Y = np.meshgrid(x, y, indexing="ij")
    add((X, Y, -box.draft + 0 * X), (0, 0, -1), np.outer(wx, wy), p(X, Y, -box.draft))
    for side in (-1, 1):
        Y, Z = np.meshgrid(y, z, indexing="ij")
        add((side * box.length / 2 + 0 * Y, Y, Z), (side, 0, 0), np.outer(wy, wz), p(side * box.length / 2, Y, Z))
        X, Z = np.meshgrid(x, z, indexing="ij")
        add((X, side * box.beam / 2 + 0 * X, Z), (0, side, 0), np.outer(wx, wz), p(X, side * box.beam / 2, Z))
    return total


@pytest.mark.parametrize(("w", "b"), [(0.05, 0.7), (0.4, 0.0), (0.9, math.pi / 2), (1.1, 2.4), (1.9, -1.0)])
def test_a_box_is_pressed_by_waves_as_an_integral_over_its_faces_says(w, b):
    box = BoxHull(40.0, 12.0, 2.5)
    found = box.at(np.array([w]), np.array([b]))[0]
    exact = pressed(box, w, b)
    scale = np.array([480, 480, 480, 480 * 12, 480 * 40, 480 * 40])
    # Gauss's rule with 40 points is exact for these waves; the difference of some numbers of their own size is lost.
    assert np.abs(found - exact) / scale == pytest.approx(np.zeros(6), abs=1e-13)


def test_a_box_knows_all_waves_and_feels_long_ones_as_a_slope():
    box = BoxHull(40.0, 12.0, 2.5)
    waves = WaveComponents(*(np.array([1.0]) for _ in range(4)))
    box.check(waves, 0.0)
    assert box.outside(waves) == 0.0
    k = 0.01**2 / 9.81
    surge, sway, heave, roll, pitch, _ = box.at(np.array([0.01]), np.array([math.pi / 4]))[0]
    assert heave == pytest.approx(480.0, rel=1e-4)
    # Crests lift, slopes push down the wave: -grad of the pressure times the volume, and the stiffness times the slope.
    assert surge == pytest.approx(1j * k * math.cos(math.pi / 4) * 480 * 2.5, rel=1e-4)
    assert sway == pytest.approx(surge)
    lever = 480 * 2.5 * 1.25
    assert roll == pytest.approx(-1j * k * math.sin(math.pi / 4) * (40 * 12**3 / 12 - lever), rel=1e-3)
    assert pitch == pytest.approx(1j * k * math.cos(math.pi / 4) * (40**3 * 12 / 12 - lever), rel=1e-3)
