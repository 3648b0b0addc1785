"""What a subsystem is to the body that it hangs from is what a port shows: interface inertia, and a wrench."""

import dataclasses

import casadi as ca
import numpy as np

from kingpost import Group, PluginSet, RunSettings, pose
from kingpost.mechanism.port_names import TRIANGLE
from kingpost.multibody.assembly import assemble
from kingpost.multibody.tree import TreeKinematics
from kingpost.plugins.formulations.modular.assembling import assembled_part, hub_projection
from kingpost.plugins.formulations.modular.leaves import leaves_of
from kingpost.plugins.formulations.modular.nodes import node_tree

PLUGINS = PluginSet(entry_points=False)


def test_the_hub_projection_of_a_crane_is_the_interface_inertia_of_its_port():
    machine = PLUGINS.models.get("small-crane-on-base")().build()
    base = next(joint for joint in machine.joints if joint.kind == "given")
    machine = dataclasses.replace(machine, subsystems=[Group("crane", [body.name for body in machine.bodies])])
    assembly = assemble(machine, PLUGINS)
    kinematics = TreeKinematics(assembly)
    crane = assembled_part(node_tree(machine).children[0], leaves_of(kinematics).bodies, kinematics.links)
    # The load hangs by a rope, which is a force: its acceleration is one of z, too, and yields as the joints do.
    assert [name for kind, name in crane.z if kind == "body"] == [base.child, "load"]
    # Efforts of drives are along speeds, which z has in an order of its own.
    along = leaves_of(kinematics).f
    efforts = [ca.SX(6, 1) if kind == "body" else along[kinematics.rows(machine.joint(name))[1], :] for kind, name in crane.z]
    crane = dataclasses.replace(crane, h=crane.h + ca.vertcat(*efforts))
    inertia, wrench = hub_projection(crane, base.child)
    symbols = [assembly.t, kinematics.q, kinematics.v, assembly.u, assembly.p]
    problem = pose(machine, RunSettings(formulation="modular"), plugins=PLUGINS)
    equations, rng = problem.equations, np.random.default_rng(0)
    q, v = equations.split(problem.x0)
    v = rng.uniform(-0.1, 0.1, equations.nv)
    found = ca.Function("hub", symbols, [inertia, wrench])(0.0, q, v, problem.u0, problem.p)
    x = np.concatenate([q, v, equations.states_of(problem.x0)])
    shown = dict(
        zip(
            (channel.name for channel in equations.channels),
            np.asarray(equations.observe(0.0, x, problem.u0, problem.p)).ravel(),
            strict=True,
        )
    )
    A = np.array([shown[f"foot.A{i}{j}"] for i, j in TRIANGLE])
    free = np.array([shown[f"foot.free.{name}"] for name in ("Mx", "My", "Mz", "Fx", "Fy", "Fz")])
    ours = np.array([found[0].full()[i - 1, j - 1] for i, j in TRIANGLE])
    # The port's frame is that of the base here; conditions of some 1e3 at most.
    np.testing.assert_allclose(ours, A, atol=1e-11 * np.abs(A).max())
    np.testing.assert_allclose(found[1].full().ravel(), free, atol=1e-11 * np.abs(free).max())
