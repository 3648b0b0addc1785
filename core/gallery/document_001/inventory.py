"""Document 001: its figures and tables, its misprints, and the entries that reproduce it."""

from __future__ import annotations

from kingpost.gallery.document_001.crane import crane
from kingpost.gallery.document_001.hamiltonian import conserving_links, particle, pendulum
from kingpost.gallery.document_001.links import free_links, links_table, one_sided, with_friction
from kingpost.gallery.document_001.momenta import friction, satellite_table, top, torques
from kingpost.gallery.document_001.satellite import satellite_free, satellite_friction
from kingpost.gallery.entry import DATA, DRAWING, RESULT, Document, Entry, Misprint, figures

DERIVED = "derived anew"
MISPRINTS = {
    "(5.43)": Misprint(
        "eqs. (5.41), (5.43), (5.46)",
        "no conjugation of pi",
        "Q_l(p) J^-1 C pi, C = diag(1, -1, -1, -1)",
        "as printed the top loses 1.4e-2 J and 5.3e-2 of J3 at h = 0.01",
    ),
    "(5.10)": Misprint("after eq. (5.10)", "spatial and convective angular velocity swapped", "2 E1 q' is spatial", "computed"),
    "(4.20)": Misprint("eqs. (4.20), (4.37), (4.63), (4.64), (4.73), (4.74)", "loads with a plus", "with a minus", DERIVED),
    "(4.40)": Misprint("eq. (4.40), second line", "no factor 1/2", "1/2", DERIVED),
    "(4.51)": Misprint(
        "eq. (4.51)",
        "any two directors of the second body",
        "the two that are not parallel to the axis",
        "else the Jacobian loses rank, as for two of the satellite's rotors",
    ),
    "(A.5)": Misprint("eqs. (A.5), (B.3)", "gradient of L", "h times it", DERIVED),
    "(B.5)": Misprint("eqs. (B.5), (B.6)", "h twice", "once", DERIVED),
    "(B.4)": Misprint("eq. (B.4)", "x_N", "q_N", "context"),
    "(8.39)": Misprint(
        "eq. (8.39)",
        "work with the mean momentum",
        "with displacements, u (q_k+1 - q_k)",
        "the particle: 4.3e-4 is left of the balance, or nothing",
    ),
    "6.3": Misprint(
        "section 6.3",
        "3-1-3 angles (Phi, Theta, Psi)",
        "R = Rz(Psi) Rx(Theta) Rz(Phi), Phi innermost",
        "only so the printed end angles follow",
    ),
    "(7.11)": Misprint(
        "after eq. (7.11)", "constraints at the end are dependent", "not after Phi(q_N) is dropped", "rank 1026 of 1026"
    ),
    "Table 6.1": Misprint(
        "Table 6.1", "E2 of link 1 is 143.3027", "140.625 by the rule of the other links; the printed one is used", "arithmetic"
    ),
}
GRAVITY = ("g = 9.81 m/s^2, which section 6.2 does not state",)

DOCUMENT = Document(
    "001",
    "a thesis on optimal control of multibody systems with energy-momentum schemes",
    (
        *figures(
            DRAWING,
            "an idea, drawn",
            [
                ("4.1", "a rigid body with directors"),
                ("4.2", "force and torque on a rigid body"),
                ("4.3", "a revolute pair"),
                ("4.4", "torques in a revolute pair"),
                ("4.5", "a prismatic pair"),
                ("4.6", "forces in a prismatic pair"),
            ],
        ),
        *figures(
            DRAWING,
            "a machine, drawn; ours is on its page",
            [
                ("4.7", "satellite with three rotors", "satellite"),
                ("5.1", "heavy top", "heavy-top"),
                ("6.1", "three links in a plane", "three-link-manipulator"),
                ("7.1", "overhead crane", "overhead-crane:form=dependent"),
                ("8.1", "pendulum", "mathematical-pendulum"),
            ],
        ),
        *figures(
            DATA,
            "",
            [
                ("T4.1", "masses, Euler tensors and distances of the satellite"),
                ("T6.1", "masses, Euler tensors, lengths and angles of the three links"),
            ],
        ),
        *figures(
            RESULT,
            "",
            [
                ("4.8", "satellite under torques: kinetic energy and J3, two evaluations, three steps"),
                ("4.9", "the same under friction; its axes survive"),
                ("5.2", "heavy top: energy, errors, coordinates"),
                ("6.2", "three links, u3 >= 0: snapshots"),
                ("6.3", "three links with friction: snapshots"),
                ("6.4", "three links, u3 >= 0: torques, angles, energies, costs"),
                ("6.5", "three links with friction: torques, angles, energies, costs"),
                ("6.6", "satellite: snapshots"),
                ("6.7", "satellite with friction: snapshots"),
                ("6.8", "satellite: orientation, energies, torques, costs"),
                ("6.9", "the same with friction; its axes survive"),
                ("7.2", "overhead crane: snapshots"),
                ("7.3", "overhead crane: inputs, coordinates, energies, costs"),
                ("7.4", "three links: snapshots"),
                ("7.5", "three links: torques, angles, energies, costs"),
                ("7.6", "three links: Hamiltonian of direct methods"),
                ("8.2", "pendulum: torque and angle"),
                ("8.3", "pendulum: energies"),
                ("8.4", "pendulum: Hamiltonian"),
                ("8.5", "particle: energies, thrust, trajectory, convergence"),
                ("8.6", "three links, conserving: torques and angles"),
                ("8.7", "three links, conserving: energies"),
                ("8.8", "three links, conserving: Hamiltonian"),
            ],
        ),
    ),
    MISPRINTS,
    (
        Entry(("T4.1",), "bodies of the satellite", ("satellite",), "kingpost models satellite", satellite_table),
        Entry(
            ("4.8",),
            "torques inside the satellite",
            ("satellite",),
            "kingpost run satellite --t-end 5 --formulation directors --integrator energy-momentum --step 0.25 "
            "--output-step 0.25 "
            "--set torque1=-200 --set torque2=-200 --set torque3=-200",
            torques,
            ("(4.51)",),
        ),
        Entry(
            ("4.9",),
            "friction inside the satellite",
            ("satellite",),
            "kingpost run satellite --t-end 5 --formulation directors --integrator energy-momentum --step 0.25 "
            "--output-step 0.25 "
            "--set friction=100 --set spin1.angle.rate=1 --set spin2.angle.rate=2 --set spin3.angle.rate=3",
            friction,
            ("(4.51)",),
        ),
        Entry(
            ("5.2",),
            "a heavy top precesses steadily",
            ("heavy-top",),
            "kingpost run heavy-top --t-end 1 --formulation quaternions --integrator quaternion-energy-momentum --step 0.01",
            top,
            ("(5.43)",),
        ),
        Entry(
            ("T6.1",),
            "the three links",
            ("three-link-manipulator",),
            "kingpost models three-link-manipulator",
            links_table,
            ("Table 6.1",),
        ),
        Entry(
            ("6.2", "6.4"),
            "three links with a torque of one sign",
            ("three-link-manipulator",),
            "kingpost optimise three-link-manipulator --task 001-one-sided --intervals 20 --formulation nullspace "
            "--integrator energy-momentum",
            one_sided,
            ("Table 6.1",),
            GRAVITY,
        ),
        Entry(
            ("6.3", "6.5"),
            "three links with friction",
            ("three-link-manipulator",),
            "kingpost optimise three-link-manipulator --task 001-friction --intervals 20 --formulation nullspace "
            "--integrator energy-momentum",
            with_friction,
            ("Table 6.1",),
            GRAVITY,
        ),
        Entry(
            ("6.6", "6.8"),
            "the satellite turns by half a turn in 5 s",
            ("satellite",),
            "kingpost optimise satellite --task 001 --intervals 20 --formulation nullspace --integrator energy-momentum",
            satellite_free,
            ("(4.51)",),
        ),
        Entry(
            ("6.7", "6.9"),
            "the same with friction",
            ("satellite",),
            "kingpost optimise satellite --task 001-friction --intervals 20 --formulation nullspace --integrator "
            "energy-momentum",
            satellite_friction,
            ("(4.51)", "6.3"),
        ),
        Entry(
            ("7.2", "7.3"),
            "the overhead crane at the least cost",
            ("overhead-crane", "overhead-crane:form=dependent"),
            "kingpost optimise overhead-crane:form=dependent --task 001 --intervals 40 --formulation kane "
            "--integrator energy-momentum",
            crane,
        ),
        Entry(
            ("7.4", "7.5", "7.6"),
            "three links without limits",
            ("three-link-manipulator",),
            "kingpost optimise three-link-manipulator --task 001 --intervals 20 --formulation directors:planar=true "
            "--integrator energy-momentum",
            free_links,
            ("Table 6.1",),
            GRAVITY,
        ),
        Entry(
            ("8.2", "8.3", "8.4"),
            "a pendulum at the least cost",
            ("mathematical-pendulum",),
            "kingpost optimise mathematical-pendulum --task 001 --intervals 20 --transcription greenspan",
            pendulum,
        ),
        Entry(
            ("8.5",),
            "a particle in a central field",
            ("central-field-particle",),
            "kingpost optimise central-field-particle --task 001 --intervals 20 --transcription "
            "hamiltonian:states=gonzalez,sigma=1",
            particle,
            ("(8.39)",),
        ),
        Entry(
            ("8.6", "8.7", "8.8"),
            "three links with a constant Hamiltonian",
            ("three-link-manipulator",),
            "kingpost optimise three-link-manipulator --task 001 --intervals 40 --transcription hamiltonian:sigma=3000",
            conserving_links,
            ("Table 6.1", "(8.39)"),
            GRAVITY,
        ),
    ),
)
