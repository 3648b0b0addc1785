"""What a machine is: bodies, joints, closures, forces, inputs, outputs, parameters. No equations, no numerics."""
