"""URDF robot descriptions, read as mechanisms.

The parser is an extra, ``pip install 'kingpost[urdf]'``. It repairs broken XML and fills in missing numbers without a word, so
the file is checked before it gets there; that is also where the line numbers in messages come from.
"""

from __future__ import annotations

import io
import itertools
import math
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from kingpost.base.errors import FileError, MechanismError, closest, listed
from kingpost.mechanism.elements import WORLD, Body, ForceElement, Joint
from kingpost.mechanism.mechanism import Mechanism
from kingpost.mechanism.values import check_values
from kingpost.symbols.joints import JOINT_KINDS
from kingpost.symbols.screws import numeric, perpendicular

Base = Literal["weld", "free"]
URDF_JOINTS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "weld",
    "floating": "free",
    "planar": "planar",
}
INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
_CHILDREN = {"joint": ("parent", "child"), "inertial": ("mass", "inertia")}
_ATTRIBUTES = {
    "robot": ("name",),
    "link": ("name",),
    "joint": ("name", "type"),
    "parent": ("link",),
    "child": ("link",),
    "mass": ("value",),
    "inertia": INERTIA,
}
#: How many numbers each attribute holds.
_NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(INERTIA, 1),
    "dynamics": {"damping": 1, "friction": 1},
}
#: Not dynamics. Taken out before the parser sees them, so that no mesh or colour can stop a file from being read.
_IGNORED = ("visual", "collision", "material", "limit", "calibration", "safety_controller")


def read_urdf(path: str | Path, *, base: Base = "weld") -> Mechanism:
    """Return the mechanism in a URDF file, with gravity.

    Links, as bodies, and joints keep their names, except that characters which Kingpost does not allow become ``_``. Viscous
    damping of revolute, continuous and prismatic joints becomes a ``joint-spring`` called ``<joint>-damping``. The description
    of the mechanism lists the names that changed, and what was not taken over: Coulomb friction, and damping of floating and
    planar joints. Shapes, and the limits on position, effort and velocity, are no part of the dynamics and are ignored.

    Parameters
    ----------
    path
        The file. Nothing that it refers to, such as a mesh, is opened.
    base
        How the root link stands in the world: welded to it, or free, through an added joint called ``base`` (``base-2`` if the
        file has a ``base``). A root link called ``world`` that has no inertia is the world itself, and nothing is added.

    Raises
    ------
    FileError
        When the file cannot be read, is not URDF, or the parser is not installed.
    MechanismError
        When what it says breaks a rule; the message begins with file and line.

    """
    if base not in get_args(Base):
        raise MechanismError(f"base is {base!r}; give 'weld' to fix the root link in the world or 'free' to let it move")
    return _Reader(Path(path)).mechanism(base)


class _Reader:
    """A URDF file: the XML elements, which know their lines, beside what the parser makes of them, in the same order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise FileError(f"there is no file '{path}'") from None
        except OSError as error:
            raise FileError(f"'{path}' cannot be read: {error}") from None
        try:
            from lxml import etree  # an extra, and slow to import
            from yourdfpy import URDF
        except ImportError as error:
            raise FileError(
                f"'{path}': reading URDF needs yourdfpy ({error}); install it with: pip install 'kingpost[urdf]'"
            ) from None
        try:
            root = etree.fromstring(data)
        except etree.XMLSyntaxError as error:
            raise FileError(f"{path}:{error.lineno}: this is not well-formed XML: {error.msg}") from None
        if root.tag != "robot":
            raise FileError(f"{path}:{root.sourceline}: this is not URDF: the outermost element is <{root.tag}>, not <robot>")
        for element in root.iter(etree.Element):
            if "xacro" in (etree.QName(element).namespace or ""):
                raise FileError(
                    f"{path}:{element.sourceline}: <{element.prefix}:{etree.QName(element).localname}> has not been expanded; "
                    "run 'xacro' on this file first and read its output"
                )
        etree.strip_elements(root, *_IGNORED)
        self.root = root
        self.link_elements = root.findall("link")
        self.joint_elements = root.findall("joint")
        self._check()
        robot = URDF.load(io.BytesIO(etree.tostring(root)), build_scene_graph=False, load_meshes=False).robot
        self.name: str = robot.name
        self.links = robot.links
        self.joints = robot.joints

    def mechanism(self, base: Base) -> Mechanism:
        children = {joint.child for joint in self.joints}
        roots = [i for i, link in enumerate(self.links) if link.name not in children]
        if len(roots) > 1:
            raise self._error(
                self.link_elements[roots[1]],
                f"{len(roots)} links have no parent: {_quoted(self.links[i].name for i in roots)}; a URDF tree has one root. "
                "Join the others to it, e.g. by fixed joints",
            )
        # Without a root the links carry each other in a loop, which the mechanism refuses.
        root = self.links[roots[0]] if roots else None
        grounded = root is not None and root.name == WORLD and root.inertial is None

        kept = [i for i, link in enumerate(self.links) if not (grounded and link is root)]
        bodies = [self.links[i] for i in kept]
        body_names = _own_names([link.name for link in bodies], "link", taken={WORLD})
        joint_names = _own_names([joint.name for joint in self.joints], "joint")
        renamed = [
            f"{word} '{old}' to '{new}'"
            for word, names in (("link", body_names), ("joint", joint_names))
            for old, new in names.items()
            if old != new
        ]
        if grounded:
            body_names[WORLD] = WORLD

        joints = [_joint(joint, joint_names[joint.name], body_names) for joint in self.joints]
        joint_elements = list(self.joint_elements)
        if root is not None and not grounded:
            added = _unused("base", joint_names.values())
            joints.insert(0, Joint(added, base, parent=WORLD, child=body_names[root.name]))
            joint_elements.insert(0, self.link_elements[roots[0]])
        damping, left_out = self._damping(joint_names)
        try:
            mechanism = Mechanism(
                name=_own_names([self.name], "robot")[self.name],
                bodies=[_body(link, body_names[link.name]) for link in bodies],
                joints=joints,
                forces=[ForceElement("gravity"), *damping],
                description=self._description(renamed, left_out),
            )
            check_values(mechanism, {})
        except MechanismError as error:
            elements: dict[tuple[str | int, ...], Any] = {("bodies", i): self.link_elements[row] for i, row in enumerate(kept)}
            elements |= {("joints", i): element for i, element in enumerate(joint_elements)}
            raise self._error(elements.get(error.path[:2], self.root), str(error)) from None
        return mechanism

    def _error(self, element: Any, message: str) -> MechanismError:
        return MechanismError(f"{self.path}:{element.sourceline}: {message}")

    def _check(self) -> None:
        """Refuse what the parser would fill in, guess, or stumble over."""
        self._check_part(self.root, "the robot")
        if not self.link_elements:
            raise self._error(self.root, "the robot has no <link>")
        for word, entries in (("link", self.link_elements), ("joint", self.joint_elements)):
            lines: dict[str, int] = {}
            for entry in entries:
                name = entry.get("name", "")
                for part in (entry, *entry.iterfind("*"), *entry.iterfind("inertial/*")):
                    self._check_part(part, f"{word} '{name}'")
                if name in lines:
                    raise self._error(
                        entry, f"two {word}s are called '{name}', the other one in line {lines[name]}; rename one of them"
                    )
                lines[name] = entry.sourceline
        for entry in self.joint_elements:
            self._check_joint(entry, [link.get("name") for link in self.link_elements])

    def _check_part(self, part: Any, what: str) -> None:
        for child in _CHILDREN.get(part.tag, ()):
            if part.find(child) is None:
                advice = "; give zeros for a point mass" if child == "inertia" else ""
                raise self._error(part, f"{what}: <{part.tag}> lacks <{child}>{advice}")
        for attribute in _ATTRIBUTES.get(part.tag, ()):
            if not part.get(attribute):
                raise self._error(part, f"{what}: <{part.tag}> lacks the attribute '{attribute}'")
        for attribute, count in _NUMBERS.get(part.tag, {}).items():
            text = part.get(attribute)
            if text is not None and not _holds_numbers(text, count):
                expected = "a finite number" if count == 1 else f"{count} finite numbers"
                raise self._error(part, f"{what}: <{part.tag} {attribute}='{text}'> should hold {expected}")

    def _check_joint(self, entry: Any, links: Sequence[str]) -> None:
        what = f"joint '{entry.get('name')}'"
        kind = entry.get("type")
        if kind not in URDF_JOINTS:
            raise self._error(entry, f"{what}: unknown type '{kind}'{closest(kind, URDF_JOINTS)} Types: {listed(URDF_JOINTS)}.")
        for side in ("parent", "child"):
            part = entry.find(side)
            name = part.get("link")
            if name not in links:
                raise self._error(
                    part,
                    f"{what}: its {side} '{name}' is not a link of this file{closest(name, links)} Links: {listed(links)}.",
                )
        axis = entry.find("axis")
        text = "1 0 0" if axis is None else axis.get("xyz", "1 0 0")
        if "axis" in JOINT_KINDS[URDF_JOINTS[kind]].needs and not any(map(float, text.split())):
            raise self._error(axis, f"{what}: <axis xyz='{text}'> is no direction; give one, e.g. '0 0 1'")
        mimic = entry.find("mimic")
        if mimic is not None:
            raise self._error(
                mimic,
                f"{what} mimics joint '{mimic.get('joint')}', but the coordinates of a tree move independently. Remove <mimic> "
                "to let the joint move on its own, or make its type 'fixed' to lock it",
            )

    def _damping(self, names: dict[str, str]) -> tuple[list[ForceElement], dict[str, list[str]]]:
        """Return the dampers, and the joints of which something was left out."""
        dampers: list[ForceElement] = []
        left_out: dict[str, list[str]] = {"Coulomb friction": [], "damping": []}
        for joint in self.joints:
            given = joint.dynamics
            damping, friction = (float(given.damping or 0.0), float(given.friction or 0.0)) if given else (0.0, 0.0)
            kind = JOINT_KINDS[URDF_JOINTS[joint.type]]
            name = names[joint.name]
            if friction and kind.freedom:
                left_out["Coulomb friction"].append(name)
            if damping and kind.freedom == 1:
                coordinate = f"{name}.{kind.coordinates[0].name}"
                dampers.append(ForceElement("joint-spring", name=f"{name}-damping", coordinate=coordinate, damping=damping))
            elif damping and kind.freedom:
                # URDF defines the unit, hence the meaning, for joints with one coordinate only.
                left_out["damping"].append(name)
        return dampers, left_out

    def _description(self, renamed: list[str], left_out: dict[str, list[str]]) -> str:
        sentences = [f"Read from {self.path.name}."]
        if renamed:
            sentences.append(f"Renamed: {listed(renamed)}.")
        sentences += [f"Not taken over: {what} of {_quoted(names)}." for what, names in left_out.items() if names]
        return " ".join(sentences)


def _body(link: Any, name: str) -> Body:
    if link.inertial is None:
        return Body(name, mass=0.0)
    R, com = _pose(link.inertial.origin)
    # URDF gives the inertia along the axes of the inertial frame, a body has it along its own.
    I = R @ link.inertial.inertia @ R.T
    return Body(
        name,
        mass=link.inertial.mass,
        com=_three(com),
        inertia=tuple(float(I["xyz".index(entry[1]), "xyz".index(entry[2])]) for entry in INERTIA),
    )


def _joint(joint: Any, name: str, bodies: dict[str, str]) -> Joint:
    kind = URDF_JOINTS[joint.type]
    needs = JOINT_KINDS[kind].needs
    R, position = _pose(joint.origin)
    axis = _three(joint.axis) if "axis" in needs else None
    axis2 = None
    if "axis2" in needs:
        # URDF names the normal of the plane alone; any direction in the plane does. For the normal z it is x.
        axis2 = _three(numeric(perpendicular(joint.axis / np.linalg.norm(joint.axis)))[:, 0])
    return Joint(
        name,
        kind,
        parent=bodies[joint.parent],
        child=bodies[joint.child],
        axis=axis,
        axis2=axis2,
        position=_three(position),
        rotation=_rpy(R),
    )


def _pose(origin: Any) -> tuple[Any, Any]:
    matrix = np.eye(4) if origin is None else origin
    return matrix[:3, :3], matrix[:3, 3]


def _rpy(R: Any) -> tuple[float, float, float]:
    """Return roll, pitch and yaw with R = Rz(yaw) Ry(pitch) Rx(roll)."""
    roll = math.atan2(R[2, 1], R[2, 2])
    pitch = math.atan2(-R[2, 0], math.hypot(R[2, 1], R[2, 2]))
    yaw = math.atan2(R[1, 0], R[0, 0])
    return _three((roll, pitch, yaw))


def _three(vector: Any) -> tuple[float, float, float]:
    x, y, z = (float(component) + 0.0 for component in vector)  # turns -0.0 into 0.0
    return x, y, z


def _holds_numbers(text: str, count: int) -> bool:
    try:
        numbers = [float(word) for word in text.split()]
    except ValueError:
        return False
    return len(numbers) == count and all(map(math.isfinite, numbers))


def _own_names(names: Sequence[str], word: str, taken: Collection[str] = ()) -> dict[str, str]:
    """Return a name for each of ``names`` that Kingpost takes: itself where possible, or a unique one like it."""
    own = {name: name for name in names if _plain(name, word) == name and name not in taken}
    for name in names:
        if name not in own:
            own[name] = _unused(_plain(name, word), {*own.values(), *taken})
    return own


def _plain(name: str, word: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    return plain if plain[0].isalpha() else f"{word}-{plain}"


def _unused(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(candidate for candidate in itertools.chain([name], numbered) if candidate not in taken)


def _quoted(names: Iterable[str]) -> str:
    return listed(f"'{name}'" for name in names)
