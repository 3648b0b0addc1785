"""The checks there are: a plain list. Put your own into a longer one and hand it to ``check_fmu``."""

from __future__ import annotations

from kingpost.fmu.checks import (
    archive_and_xml,
    arrays,
    derivatives,
    heap,
    instances,
    interpolation,
    lifecycle,
    resources,
    states,
    steps,
    surroundings,
    values,
)
from kingpost.fmu.checks.check import Check, Need

KEEPS_STATES = Need("it does not claim to keep states (canGetAndSetFMUstate)", lambda fmu: fmu.can("canGetAndSetFMUstate"))
SERIALISES = Need("it does not claim to serialise states (canSerializeFMUstate)", lambda fmu: fmu.can("canSerializeFMUstate"))
DIFFERENTIATES = Need(
    "it does not claim to have directional derivatives", lambda fmu: fmu.can("providesDirectionalDerivatives")
)
SEVERAL = Need(
    "only one instance per process is promised (canBeInstantiatedOnlyOncePerProcess)",
    lambda fmu: not fmu.can("canBeInstantiatedOnlyOncePerProcess"),
)
OWN_SOLVER = Need("in model exchange the steps are the importer's", lambda fmu: fmu.interface == "co-simulation")
ANY_STEP = Need(
    "all steps must have the same length (canHandleVariableCommunicationStepSize)",
    lambda fmu: fmu.can("canHandleVariableCommunicationStepSize"),
)
INTERPOLATES = Need(
    "it does not claim to take derivatives of inputs, or to give those of outputs",
    lambda fmu: (
        fmu.interface == "co-simulation" and (interpolation.takes_derivatives(fmu) or interpolation.output_order(fmu) > 0)
    ),
)

CHECKS: tuple[Check, ...] = (
    Check("archive", "the archive is sound and has a binary for this platform", (archive_and_xml.archive,), runs=False),
    Check("validate", "fmpy finds the model description valid", (archive_and_xml.validate,), runs=False),
    Check("units", "every real variable has a unit", (archive_and_xml.units,), runs=False),
    Check("structure", "outputs and initial unknowns are listed completely", (archive_and_xml.structure,), runs=False),
    Check("start", "it loads, instantiates and initialises", (lifecycle.start,), steps=False),
    Check("run", "it runs to its stop time with finite values", (lifecycle.run,)),
    Check("exit", "it ends, unloads, and lets the process end", (lifecycle.leave,), leaves_normally=True),
    Check("first-outputs", "outputs are right before the first step", (values.first_outputs,), steps=False),
    Check("set-values", "what may be set can be set and read back", (values.set_values,), steps=False),
    Check("unknown-references", "references that do not exist are refused", (values.unknown_references,), steps=False),
    Check(
        "after-error",
        "after an error it can be ended like any other",
        (lifecycle.after_error, lifecycle.terminated_after_error),
        steps=False,
        leaves_normally=True,
        poisoned=True,
    ),
    Check("nan-input", "nan and inf are not passed on as success", (values.not_a_number,)),
    Check("reset", "reset brings back the start", (lifecycle.reset,)),
    Check("repeat", "the same steps give the same bits", (states.once, states.again)),
    Check("rollback", "going back to a state is exact", (states.rollback,), (KEEPS_STATES,)),
    Check("serialise", "a state can be continued in another process", (states.save, states.resume), (KEEPS_STATES, SERIALISES)),
    Check("step-size", "shorter steps come to the same results", (steps.step_size,), (OWN_SOLVER, ANY_STEP)),
    Check("odd-steps", "unusual steps are answered with a status", (steps.odd_steps,), (OWN_SOLVER,)),
    Check(
        "derivatives",
        "directional derivatives agree with differences",
        (derivatives.directional_derivatives,),
        (DIFFERENTIATES,),
    ),
    Check(
        "two-instances",
        "two instances do not disturb each other",
        (instances.alone, instances.alone_too, instances.together),
        (SEVERAL,),
    ),
    Check("many-instances", "many instances, one after the other and at once", (instances.many,)),
    Check("two-loads", "two copies can be loaded, and unloaded", (instances.two_loads,), (SEVERAL,)),
    Check("folder-name", "it runs from a folder with any name", (lifecycle.folder_name,)),
    Check("interpolation", "derivatives of inputs and outputs are as claimed", (interpolation.interpolation,), (INTERPOLATES,)),
    Check("const-arrays", "arrays that it may only read stay as they are", (arrays.const_arrays,)),
    Check("heap", "it writes into no memory but its own", (heap.heap,), leaves_normally=True, watched=True),
    Check("arithmetic", "it leaves rounding, precision and traps alone", (surroundings.arithmetic,)),
    Check("locale", "it leaves the locale alone", (surroundings.locale,)),
    Check("working-folder", "it leaves the working folder alone", (surroundings.working_folder,)),
    Check("process", "it leaves files, signals and the environment of its process alone", (surroundings.process,)),
    Check("logging", "its messages are text", (resources.logging,)),
    Check("memory", "memory does not grow with steps", (resources.memory,)),
    Check("speed", "how long a step takes", (resources.speed,)),
)
