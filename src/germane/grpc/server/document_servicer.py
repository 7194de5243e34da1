"""Document servicer: the RPCs of `DocumentService`; each calls the method of `agent.documents` with the same meaning."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, cast

from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall
from germane.grpc.server.from_wire import required
from germane.grpc.server.memory_servicer import page_size
from germane.grpc.server.refusals import invalid
from germane.grpc.server.to_wire import receipt, stamp, wire_text
from germane.grpc.stubs import document_pb2 as pb
from germane.kinds.documents.value import KeptDocument
from germane.kinds.keys.value import Right
from germane.types.candidate import Sensitivity


class DocumentServicer:
    """Runs on the engine's loop. Raises `Refused`, `InvalidInput`, and germane's other errors. No path is opened: the content
    of a document comes in the request."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType(
        {"IngestDocument": "write", "GetDocument": "read", "ListDocuments": "read", "ForgetDocument": "write"}
    )

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def ingest_document(self, request: pb.IngestDocumentRequest, call: RpcCall) -> pb.IngestDocumentResponse:
        documents = self._resolver.scoped(request.scope, call).documents
        source, kind = required("source", request.source), request.WhichOneof("content")
        if kind is None:
            raise invalid("text is missing: give the document as text or as data")
        done = await documents.ingest(
            text=request.text if kind == "text" else None,
            data=request.data if kind == "data" else None,
            source=source,
            title=request.title or None,
            media_type=request.media_type or None,
            agent_wide=request.agent_wide,
            sensitivity=cast("Sensitivity", request.sensitivity or "private"),
            dry_run=request.dry_run,
        )
        return pb.IngestDocumentResponse(
            source=wire_text(done.source),
            session_id=wire_text(done.session),
            title=wire_text(done.title),
            media_type=done.media_type,
            outcome=done.outcome,
            added=done.added,
            kept=done.kept,
            removed=done.removed,
            size=done.size,
            secrets=done.secrets,
            dry_run=done.dry_run,
        )

    async def get_document(self, request: pb.GetDocumentRequest, call: RpcCall) -> pb.GetDocumentResponse:
        documents = self._resolver.scoped(request.scope, call).documents
        return pb.GetDocumentResponse(document=_document(await documents.get(required("source", request.source))))

    async def list_documents(self, request: pb.ListDocumentsRequest, call: RpcCall) -> pb.ListDocumentsResponse:
        documents = self._resolver.scoped(request.scope, call).documents
        page = await documents.list(limit=page_size(request.page_size), cursor=request.page_token or None)
        return pb.ListDocumentsResponse(documents=map(_document, page.documents), next_page_token=page.cursor or "")

    async def forget_document(self, request: pb.ForgetDocumentRequest, call: RpcCall) -> pb.ForgetDocumentResponse:
        documents = self._resolver.scoped(request.scope, call).documents
        forgotten = await documents.forget(
            required("source", request.source),
            agent_wide=request.agent_wide,
            dry_run=request.dry_run,
            by=request.by,
            reason=request.reason,
        )
        return pb.ForgetDocumentResponse(receipt=receipt(forgotten))


def _document(stored: KeptDocument) -> pb.Document:
    return pb.Document(
        source=wire_text(stored.source),
        session_id=wire_text(stored.session),
        user_id=stored.user or "",
        title=wire_text(stored.title),
        media_type=stored.media_type,
        passages=stored.passages,
        size=stored.size,
        ingested_at=stamp(stored.ingested_at),
        updated_at=stamp(stored.updated_at),
        complete=stored.complete,
    )
