"""Routes of uploaded files."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Request
from fastapi.responses import FileResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.types import Message

from kingpost.fmu.service.answers import PROBLEMS, FileView
from kingpost.fmu.service.blobs import Upload, check_size
from kingpost.fmu.service.context import Context
from kingpost.fmu.service.errors import ServiceError, not_found
from kingpost.fmu.service.job_routes import Here
from kingpost.fmu.service.store import Blob

router = APIRouter(responses=PROBLEMS, tags=["files"])
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="the hash of a file")]
#: Bytes that the envelope of a multipart request may take.
ENVELOPE = 100_000
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FORM = {"schema": {"type": "object", "required": ["file"], "properties": {"file": _BINARY["schema"]}}}


@router.post(
    "/files",
    status_code=201,
    response_model=FileView,
    openapi_extra={"requestBody": {"content": {"application/octet-stream": _BINARY, "multipart/form-data": _FORM}}},
)
async def upload(
    request: Request,
    here: Here,
    name: Annotated[str | None, Header(alias="X-Filename", max_length=400, description="the name, percent-encoded")] = None,
) -> Any:
    """Upload a file: its bytes with the header X-Filename, or a form with the field ``file``."""
    await run_in_threadpool(here.folder.check_room, here.settings.least_free)
    announced = request.headers.get("content-length", "")
    if announced.isdigit():
        check_size(int(announced), here.settings.upload_bytes + ENVELOPE)
    with here.blobs.receiving() as incoming:
        if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
            name = await _from_form(request, incoming, here, name)
        else:
            async for chunk in request.stream():
                await run_in_threadpool(incoming.add, chunk)
        if not name:
            raise ServiceError("a file needs a name: send it as the header X-Filename", code="name")
        blob = await run_in_threadpool(here.blobs.keep, incoming, name)
    return file_view(blob)


async def _from_form(request: Request, incoming: Upload, here: Context, name: str | None) -> str:
    """Take the field ``file`` of a form; the whole form is counted while it comes."""
    counted, receive = 0, request.receive

    async def limited() -> Message:
        nonlocal counted
        message = await receive()
        counted += len(message.get("body", b""))
        check_size(counted, here.settings.upload_bytes + ENVELOPE)
        return message

    try:
        form = await Request(request.scope, limited).form(max_files=1, max_fields=4)
    except MultiPartException as error:
        raise ServiceError(f"the form cannot be read: {error.message}", status=400, code="form") from None
    try:
        field = form.get("file")
        if not isinstance(field, UploadFile):
            raise ServiceError("the form has no file in its field 'file'", code="form")
        while chunk := await field.read(1 << 20):
            await run_in_threadpool(incoming.add, chunk)
        return name or field.filename or ""
    finally:
        await form.close()


@router.get("/files", response_model=list[FileView])
def files(here: Here) -> Any:
    """List uploaded files, the newest first."""
    return [file_view(blob) for blob in here.store.blobs()]


@router.get(
    "/files/{digest}",
    response_class=FileResponse,
    responses={
        200: {"content": {"application/octet-stream": {}}},
        206: {"description": "a range"},
        416: {"description": "no such range"},
    },
)
def file(digest: Digest, here: Here, wanted: Annotated[str | None, Header(alias="Range")] = None) -> Response:
    """Return an uploaded file; ranges are served."""
    blob = here.store.blob(digest)
    path = here.blobs.path(blob)
    if not path.is_file():
        raise not_found(f"'{blob.name}' is not in the folder of the project any more")
    return FileResponse(path, media_type="application/octet-stream", filename=blob.name)


@router.get("/files/{digest}/description")
def description(digest: Digest, here: Here) -> dict[str, Any]:
    """Say what is in a file: the variables of an FMU, the components and connections of a system, a model's parameters."""
    blob = here.store.blob(digest)
    with here.blobs.as_file(blob) as path:
        if blob.kind == "fmu":
            return here.describer.ask("fmu", str(path), key=digest)
        if blob.kind in ("ssp", "ssd", "xml") or blob.summary.get("holds") == "system":
            return here.describer.ask("system", str(path), key=digest)
        if blob.kind == "urdf" or blob.summary.get("holds") == "model":
            return here.describer.ask("model-file", str(path), key=digest)
    return {"kind": blob.kind, "name": blob.name, **blob.summary}


def file_view(blob: Blob) -> dict[str, Any]:
    return {name: getattr(blob, name) for name in FileView.model_fields}
