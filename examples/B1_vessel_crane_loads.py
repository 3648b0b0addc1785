"""The loads between crane and vessel: Figs. 6 and 7 of the Kane/screw-theory paper (document 004), and what their frames mean.

Writes fig6.png and fig7.png (needs the 'viz' extra) and prints the largest loads. Run it in any folder:

    python B1_vessel_crane_loads.py
"""

import numpy as np

from kingpost import PluginSet, simulate

ASSUMPTIONS = (
    "Not in the paper, assumed here: l4 = 2 m, gravity 9.81 m/s², PD gains kP = 50 kN m/rad, kD = 5 kN m s/rad,\n"
    "set-points of Fig. 5 joined rest to rest by a polynomial of degree 9. Loads are those of the vessel on the crane at the\n"
    "slewing joint; the moment about z is the drive's torque, not a constraint load, and is left out. The weight comes\n"
    "on at t = 0 and nothing damps the vessel, so it goes on rolling; upright is an unstable place, which makes pitch and yaw\n"
    "sensitive to small changes."
)

plugins = PluginSet()
crane = plugins.models.get("vessel-crane")().build()
history = simulate(crane, 20.0, loads=["slew"], plugins=plugins)

# Frame 2 is the crane's joint frame, frame 1 the vessel's: the same load in turned axes.
in_frame_1 = history.loads("slew", frame="parent")
in_frame_2 = history.loads("slew", frame="child")
rho = in_frame_2.constraint[:, [0, 1, 3, 4, 5]]  # eq. (64)

for name, values, unit in zip(("Mx", "My", "Fx", "Fy", "Fz"), rho.T, ("N m", "N m", "N", "N", "N"), strict=True):
    most = np.abs(values).argmax()
    print(f"largest {name} in frame 2: {values[most]:9.2f} {unit:3s} at {history.time[most]:5.2f} s")
print(f"Newton-Euler residual: {history['loads.residual.force'].max():.1e} N, {history['loads.residual.moment'].max():.1e} N m")


def draw_figure_6(axes):
    for axis, names, title in zip(
        axes,
        (("hull.roll", "hull.pitch", "hull.yaw"), ("slew.angle", "luff.angle", "knuckle.angle")),
        ("vessel q1, q2, q3", "crane q4, q5, q6"),
        strict=True,
    ):
        for name in names:
            axis.plot(history.time, history[name], label=name, lw=1.2)
        axis.set(title=title, xlabel="time [s]", ylabel="angle [rad]")


def draw_figure_7(axes):
    for row, load, frame in zip(axes, (in_frame_1, in_frame_2), ("frame 1 (vessel)", "frame 2 (crane)"), strict=True):
        for axis, columns, unit in zip(row, ((0, 1), (3, 4, 5)), ("moment [N m]", "force [N]"), strict=True):
            for column in columns:
                axis.plot(history.time, load.constraint[:, column], label=("Mx", "My", "Mz", "Fx", "Fy", "Fz")[column], lw=1.2)
            axis.set(title=frame, xlabel="time [s]", ylabel=unit)


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    for file, shape, draw in (("fig6.png", (1, 2), draw_figure_6), ("fig7.png", (2, 2), draw_figure_7)):
        figure, axes = plt.subplots(*shape, figsize=(11, 3.2 * shape[0] + 1.2), squeeze=False)
        draw(axes if shape[0] == 2 else axes[0])
        for axis in axes.flat:
            axis.grid(alpha=0.3)
            axis.legend(fontsize=8, frameon=False)
        figure.tight_layout(rect=(0, 1.0 / figure.get_figheight(), 1, 1))
        figure.text(0.01, 0.01, ASSUMPTIONS, fontsize=8, va="bottom")
        figure.savefig(file, dpi=110)
        print("wrote", file)
