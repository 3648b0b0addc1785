"""The defects that the C oscillator can be given, and what must be said of them."""

from __future__ import annotations

#: What weighs less than an error.
WEIGHTS = {
    "UNKNOWN_OK": "warning",
    "PASS_NAN": "warning",
    "LEFT_OPEN": "note",
    "SIGNALS": "warning",
    "SET_ENVIRONMENT": "warning",
}
#: What only one kind of processor, or of system, has.
X86 = {"TRAP", "FLUSH"}
LINUX = {"OVERRUN", "CLOSE_FILES", "LEFT_OPEN"}
#: For each defect of the C oscillator: the checks that must find it, and what the first of them must say.
DEFECTS = {
    "CRASH_ON_UNKNOWN": (("unknown-references",), "killed by SIGSEGV while calling getReal(1007)"),
    "UNKNOWN_OK": (("unknown-references",), "getReal(1007) is answered with 'ok'"),
    "LEAK": (("memory",), "memory grows"),
    "WRONG_DERIVATIVE": (("derivatives",), "d 'acceleration' / d 'force' is said to be 0.75, differences give 0.5"),
    "ABORT_AT_EXIT": (("exit",), "killed by SIGABRT while unloading the library"),
    "HANG": (("run",), "did not end within 2 s while stepping from t = 0.03 s"),
    "EXIT": (("run",), "left by itself with exit status 3 while stepping from t = 0.03 s"),
    "CRASH_LATER": (("run",), "killed by SIGSEGV while stepping from t = 0.03 s"),
    "FAIL_LATER": (("run",), "the step from t = 0.03 s failed: fmi2DoStep ended with status 'error'"),
    "NAN_LATER": (("run",), "the step to t = 0.04 s reports success, but 'position' = nan"),
    "SHARED": (("two-instances", "many-instances"), "the first of two instances is not what it is alone"),
    "FEW_INSTANCES": (("many-instances",), "did not instantiate"),
    "HIDDEN_STATE": (("rollback", "serialise"), "the run differs after going back"),
    "SERIAL_ROUNDS": (("serialise",), "going on in another process from a serialised state differs"),
    "PASS_NAN": (("nan-input",), "'force' = nan: passed on: the step reports success, and 'position' = nan"),
    "RESET_KEEPS": (("reset",), "a run after reset() differs from the first"),
    "STALE_OUTPUT": (("first-outputs", "derivatives"), "not those of a step of zero: 'acceleration' is -2.5 instead of 0.0"),
    "STEP_DEPENDENT": (("first-outputs", "step-size"), "not those of a step of zero"),
    "PLAIN_FOLDERS": (("folder-name",), "killed by SIGSEGV while instantiating"),
    "TERMINATE_FAILS": (("exit",), "fmi2Terminate ended with status 'error'"),
    "REFUSE_INPUT": (("set-values", "derivatives"), "input 'force' cannot be set after initialisation"),
    "IGNORE_PARAMETER": (("set-values",), "'stiffness' was set to 50.00000005 and reads [50.0]"),
    "BAD_TEXT": (("logging",), "messages are not valid UTF-8"),
    "OVERRUN": (("heap",), "was killed by SIGABRT while freeing the instance"),
    "WRITE_VALUES": (("const-arrays",), "fmi2SetReal writes into the values that it is given, which are const"),
    "WRITE_REFERENCES": (("const-arrays",), "fmi2SetReal writes into the references that it is given"),
    "GET_TOO_MUCH": (("const-arrays",), "fmi2GetReal writes beyond the 4 value(s) that it is asked for"),
    "ROUND_UP": (("arithmetic", "first-outputs", "reset"), "after step 1, rounding was to nearest and is upwards"),
    "TRAP": (("arithmetic",), "after step 1, control word of the x87 was 0x37f"),
    "FLUSH": (("arithmetic",), "after step 1, numbers below 2.2e-308 was kept and is flushed to zero"),
    "SET_LOCALE": (("locale",), "after step 1, LC_COLLATE was C and is C.UTF-8"),
    "CHANGE_FOLDER": (("working-folder",), " and is /"),
    "UMASK": (("working-folder",), "after step 1, the mask for new files was"),
    "CLOSE_FILES": (("process",), "after step 1, file descriptor"),
    "LEFT_OPEN": (("process",), "was not there and is /dev/null"),
    "SIGNALS": (("process",), "after step 1, what SIGUSR1 does was the default and is nothing"),
    "SET_ENVIRONMENT": (("process",), "after step 1, the variable OSCILLATOR was not there and is 'on'"),
}
