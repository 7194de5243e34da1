"""Document RPCs: the client's calls about documents, as `client.documents`. All return plain values."""

from __future__ import annotations

from typing import Any, cast

from germane.errors import InvalidInput
from germane.grpc.client.assembly import ClientScope, checked_text
from germane.grpc.client.block_values import number_given
from germane.grpc.client.conversation import MAX_BYTES
from germane.grpc.client.rpcs import ClientRpc, scope_to_wire
from germane.grpc.client.values import receipt_of_wire, time_of_wire
from germane.grpc.stubs import document_pb2 as pb
from germane.grpc.stubs.document_pb2_grpc import DocumentServiceStub
from germane.kinds.documents.value import DocumentPage, Ingested, KeptDocument
from germane.kinds.memories.value import Receipt
from germane.types.candidate import Sensitivity
from germane.types.limits import PAGE


def ingest(
    scope: ClientScope,
    *,
    text: str | None = None,
    data: bytes | None = None,
    source: str,
    title: str | None = None,
    media_type: str | None = None,
    agent_wide: bool = False,
    sensitivity: Sensitivity = "private",
    dry_run: bool = False,
) -> ClientRpc[Ingested]:
    """Stores the passages of a document: of a `text`, or of the `data` of a file, at most 8 MiB. Idempotent by content.
    `source` names the document. Nothing is read from a disk, neither here nor by the service. Raises `InvalidInput` and
    `Conflict`."""
    if (text is None) == (data is None):
        raise InvalidInput("give either a text or data")
    if data is not None and not isinstance(data, bytes):
        raise InvalidInput(f"data must be bytes, not {type(data).__name__}")
    said = checked_text("text", text, optional=True)
    if max(len(data or b""), len(said)) > MAX_BYTES or len(said.encode("utf-8", "replace")) > MAX_BYTES:
        raise InvalidInput(
            f"the document has more than {MAX_BYTES >> 20} MiB: divide it, or use germane ingest beside the store"
        )
    request = pb.IngestDocumentRequest(
        scope=scope_to_wire(scope),
        source=checked_text("source", source),
        title=checked_text("title", title, optional=True),
        media_type=checked_text("media_type", media_type, optional=True),
        agent_wide=agent_wide,
        sensitivity=checked_text("sensitivity", sensitivity),
        dry_run=dry_run,
    )
    if data is None:
        request.text = said
    else:
        request.data = data
    return ClientRpc(DocumentServiceStub, "IngestDocument", request, _ingested)


def get(scope: ClientScope, source: str) -> ClientRpc[KeptDocument]:
    """Returns a document by its source, by its session, or by the id of one of its passages. Raises `NotFound`."""
    request = pb.GetDocumentRequest(scope=scope_to_wire(scope), source=checked_text("source", source))
    return ClientRpc(DocumentServiceStub, "GetDocument", request, lambda response: _document(response.document))


def list_documents(scope: ClientScope, *, limit: int = 50, cursor: str | None = None) -> ClientRpc[DocumentPage]:
    """Returns a page of `limit` (1 to 1,000) documents, the one that was ingested last first."""
    request = pb.ListDocumentsRequest(
        scope=scope_to_wire(scope),
        page_size=number_given("limit", limit, 1, PAGE.maximum),
        page_token=checked_text("cursor", cursor, optional=True),
    )

    def read(response: pb.ListDocumentsResponse) -> DocumentPage:
        return DocumentPage(documents=tuple(map(_document, response.documents)), cursor=response.next_page_token or None)

    return ClientRpc(DocumentServiceStub, "ListDocuments", request, read)


def forget(
    scope: ClientScope, source: str, *, agent_wide: bool = False, dry_run: bool = False, by: str = "", reason: str = ""
) -> ClientRpc[Receipt]:
    """Removes a document with all its passages for good. Raises `NotFound`, and `InvalidInput` for a user's scope that names a
    document of all users without `agent_wide`."""
    request = pb.ForgetDocumentRequest(
        scope=scope_to_wire(scope),
        source=checked_text("source", source),
        agent_wide=agent_wide,
        dry_run=dry_run,
        by=by,
        reason=reason,
    )
    return ClientRpc(DocumentServiceStub, "ForgetDocument", request, lambda response: receipt_of_wire(response.receipt))


def _ingested(wire: pb.IngestDocumentResponse) -> Ingested:
    return Ingested(
        source=wire.source,
        session=wire.session_id,
        title=wire.title,
        media_type=wire.media_type,
        outcome=cast("Any", wire.outcome),
        added=wire.added,
        kept=wire.kept,
        removed=wire.removed,
        size=wire.size,
        secrets=dict(wire.secrets),
        dry_run=wire.dry_run,
    )


def _document(wire: pb.Document) -> KeptDocument:
    return KeptDocument(
        source=wire.source,
        session=wire.session_id,
        user=wire.user_id or None,
        title=wire.title,
        media_type=wire.media_type,
        passages=wire.passages,
        size=wire.size,
        ingested_at=time_of_wire(wire.ingested_at),
        updated_at=time_of_wire(wire.updated_at),
        complete=wire.complete,
    )
