"""Uploaded files: kept by content, opened with care; whatever is made to do harm is refused with the reason."""

import io
import stat
import zipfile

import pytest

from kingpost.fmu.service.blobs import safe_upload_name
from kingpost.fmu.service.errors import ServiceError
from tests.fmu.service.serving import browser_of, make_context, said

DESCRIPTION = (
    b'<?xml version="1.0"?><fmiModelDescription fmiVersion="2.0" modelName="m" guid="g"><CoSimulation modelIdentifier="m"/>'
    b'<ModelVariables><ScalarVariable name="x" valueReference="0" causality="output"><Real unit="m"/></ScalarVariable>'
    b"</ModelVariables><ModelStructure/></fmiModelDescription>"
)
SSD = b'<SystemStructureDescription><System name="s"><Elements>%s</Elements></System></SystemStructureDescription>'
BOMB = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>'


def archive(members: dict, *, links=(), level=zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", level) as file:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = level
            if name in links:
                entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            file.writestr(entry, content)
    return stream.getvalue()


FMU = archive({"modelDescription.xml": DESCRIPTION})


def upload(http, name: str, content: bytes):
    return http.post("/api/v1/files", content=content, headers={"X-Filename": name})


def test_a_file_is_kept_once_and_served_with_ranges(http, context):
    first, second = upload(http, "crane.fmu", FMU), upload(http, "again.fmu", FMU)
    assert (first.status_code, first.json()["kind"], first.json()["bytes"]) == (201, "fmu", len(FMU))
    assert first.json()["summary"] == {"model": "m", "fmi": "2.0", "interfaces": ["co-simulation"]}
    assert first.json()["hash"] == second.json()["hash"]
    assert len(list(context.folder.blobs.rglob("*"))) == 2  # a folder, a file
    assert list(context.folder.incoming.iterdir()) == []
    digest = first.json()["hash"]
    assert http.get(f"/api/v1/files/{digest}").content == FMU
    part = http.get(f"/api/v1/files/{digest}", headers={"Range": "bytes=2-5"})
    assert (part.status_code, part.content) == (206, FMU[2:6])
    assert http.get(f"/api/v1/files/{digest}", headers={"Range": f"bytes={10**9}-"}).status_code == 416
    assert [row["name"] for row in http.get("/api/v1/files").json()] == ["again.fmu"]
    assert http.get(f"/api/v1/files/{'0' * 64}").status_code == 404


def test_a_file_can_come_by_a_form(http):
    answer = http.post("/api/v1/files", files={"file": ("t.toml", b'name = "x"\n[components.a]\nmodel = "vessel-crane"\n')})
    assert answer.status_code == 201
    assert answer.json()["summary"] == {"holds": "system", "name": "x"}
    assert "no file" in said(http.post("/api/v1/files", files={"other": ("t.toml", b"")}))["error"]


def test_fmus_and_systems_are_described_without_being_run(http):
    digest = upload(http, "crane.fmu", FMU).json()["hash"]
    found = http.get(f"/api/v1/files/{digest}/description").json()
    assert found["variables"][0]["name"] == "x"
    assert found["variables"][0]["causality"] == "output"
    assert found["variables"][0]["unit"] == "m"
    text = b'[components.a]\nmodel = "double-pendulum"\n[components.b]\nmodel = "double-pendulum"\n'
    text += b'[[connections]]\nfrom = "a.energy.total"\nto = "b.torque"\n[run]\nt_end = 1\nstep = 0.1\n'
    digest = upload(http, "two.toml", text).json()["hash"]
    found = http.get(f"/api/v1/files/{digest}/description").json()
    assert [component["name"] for component in found["components"]] == ["a", "b"]
    assert found["connections"] == [{"from": "a.energy.total", "to": "b.torque"}]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("evil.py", b"import os", "code"),
        ("evil.so", b"\x7fELF", "code"),
        ("evil.html", b"<script>", "code"),
        ("x.unknown", b"", "no use"),
        ("noname", b"", "no name of a file"),
        ("x.fmu", b"not an archive", "no archive"),
        ("x.fmu", archive({"a.txt": b""}), "no modelDescription.xml"),
        ("x.fmu", archive({"modelDescription.xml": DESCRIPTION, "../evil": b"x"}), "way out"),
        ("x.fmu", archive({"modelDescription.xml": DESCRIPTION, "/etc/evil": b"x"}), "absolute"),
        ("x.fmu", archive({"modelDescription.xml": DESCRIPTION, "a\\b": b"x"}), "backslash"),
        ("x.fmu", archive({"modelDescription.xml": DESCRIPTION, "link": b"/etc/passwd"}, links=["link"]), "link"),
        ("x.fmu", archive({"modelDescription.xml": BOMB}), "DOCTYPE"),
        ("x.fmu", archive({"modelDescription.xml": DESCRIPTION.replace(b"2.0", b"9.0")}), "FMI '9.0'"),
        ("x.fmu", archive({"modelDescription.xml": b"<x"}), "not XML"),
        ("x.ssp", archive({"SystemStructure.ssd": BOMB}), "DOCTYPE"),
        ("x.ssp", archive({"SystemStructure.ssd": SSD % b'<Component source="../../x.fmu"/>'}), "outside"),
        ("x.ssp", archive({"other": b""}), "no SystemStructure.ssd"),
        ("x.xml", BOMB, "DOCTYPE"),
        ("x.urdf", b'<robot><mesh filename="/etc/passwd"/></robot>', "outside"),
        ("x.toml", b"plugins = ['evil.py']\n", "cannot load Python"),
        ("x.toml", b"[a]\nfile = '../../etc/passwd'\n", "outside"),
        ("x.toml", b"[a]\nforce = 'forces.py:Mine'\n", "Python"),
        ("x.toml", b"not toml", "refused"),
        ("x.npz", b"PK", "no archive"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_or_useless_files_are_refused_with_the_reason_and_leave_nothing(http, context, name, content, words):
    answer = upload(http, name, content)
    assert answer.status_code in (403, 422), answer.text
    assert words in answer.json()["error"]
    assert str(context.folder.root) not in answer.text
    assert [path for path in (*context.folder.incoming.iterdir(), *context.folder.blobs.rglob("*")) if path.is_file()] == []


def test_a_small_archive_that_would_fill_the_disk_is_refused(http, context, monkeypatch):
    monkeypatch.setattr("kingpost.fmu.file.archive_limits.HARMLESS", 1e6)
    bomb = archive({"modelDescription.xml": DESCRIPTION, "zeros": bytes(5_000_000)}, level=zipfile.ZIP_DEFLATED)
    answer = upload(http, "bomb.fmu", bomb)
    assert answer.status_code == 422
    assert "times as much" in answer.json()["error"]
    assert list(context.folder.incoming.iterdir()) == []


def test_large_uploads_are_refused_whether_or_not_they_announce_themselves(tmp_path):
    context = make_context(tmp_path / "small", upload_bytes=1000)
    http = browser_of(context)
    assert upload(http, "x.csv", bytes(200_000)).status_code == 413

    def pieces():
        for _ in range(100):
            yield bytes(100)

    answer = http.post("/api/v1/files", content=pieces(), headers={"X-Filename": "x.csv"})
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
    answer = http.post("/api/v1/files", files={"file": ("x.csv", bytes(150_000))})
    assert answer.status_code == 413
    assert list(context.folder.incoming.iterdir()) == []
    context.store.close()


@pytest.mark.parametrize(
    ("given", "kept"),
    [("../../x.toml", "x.toml"), ("C:\\a\\b.csv", "b.csv"), ("a%20b.fmu", "a b.fmu"), ("w\x00e;i.rd.fmu", "w_e_i.rd.fmu")],
)
def test_names_of_uploads_lose_their_folders(given, kept):
    assert safe_upload_name(given) == kept


def test_an_upload_needs_a_name():
    with pytest.raises(ServiceError, match="X-Filename"):
        safe_upload_name("...")
