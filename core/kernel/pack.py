"""A kernel that travels: for machines that have no compiler, or need not use theirs. It is code, and is run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from kingpost.base.errors import KingpostError, listed
from kingpost.kernel.compiler import install, missing_features, processor
from kingpost.kernel.kernel import Kernel

#: Features of a processor that are named in a message.
MOST_FEATURES = 8


@dataclass(frozen=True)
class KernelPack:
    """A compiled library, and what says for which source and for which processors it is."""

    key: str
    #: Hash of the C source, of how it is compiled and of the kind of machine.
    source: str
    sha256: str
    library: bytes
    #: The processor it was compiled on, with all its features: another one must have them, too.
    processor: str
    compiler: str

    def __repr__(self) -> str:
        return f"<kernel pack {self.key}, {len(self.library)} bytes, {self.compiler}>"

    def refusal(self) -> str:
        """Return why this machine cannot run it; empty if it can."""
        if hashlib.sha256(self.library).hexdigest() != self.sha256:
            return f"kernel pack {self.key} is damaged: its bytes do not have the hash that it gives"
        missing = missing_features(self.processor)
        if missing:
            return (
                f"kernel pack {self.key} was compiled for a processor with features that this one lacks: "
                f"{listed(missing, most=MOST_FEATURES)}"
            )
        return ""

    def install(self) -> None:
        """Put it where kernels are looked for. It is run from there on, so it must come from somebody who may do that."""
        refusal = self.refusal()
        if refusal:
            raise KingpostError(f"{refusal}. Give this machine a C compiler, or compile the pack on a machine like it")
        install(self.library, self.key, self.compiler, self.source, self.processor)


def packed(kernel: Kernel) -> KernelPack | None:
    """Return a kernel as a pack; None for one that is interpreted."""
    if kernel.library is None:
        return None
    library = kernel.library.read_bytes()
    digest = hashlib.sha256(library).hexdigest()
    return KernelPack(kernel.key, kernel.source_hash, digest, library, processor(), kernel.compiler)
