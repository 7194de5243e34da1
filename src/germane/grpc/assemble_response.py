"""Answers: the responses to `AssembleContext`, in germane's own contract and in the one that others are built against."""

from __future__ import annotations

import json
from typing import Protocol

from germane.grpc.assemble_request import Asking, Request
from germane.grpc.stubs import context_pb2, ibex_pb2
from germane.grpc.to_wire import ibex_metadata, metadata, text
from germane.types.context import Context, Metadata

__all__ = ["Answers", "GermaneAnswers", "IbexAnswers", "Response"]

Response = context_pb2.AssembleContextResponse | ibex_pb2.AssembleContextResponse


class Answers(Protocol):
    def full(self, context: Context, asked: Asking, request_id: str) -> Response:
        """What was assembled."""

    def untouched(self, request: Request, told: Metadata, request_id: str) -> Response:
        """The messages as they came."""


class GermaneAnswers:
    def full(self, context: Context, asked: Asking, request_id: str) -> Response:
        found = context_pb2.AssembleContextResponse(
            messages=asked.conversation.answered(context.messages, context_pb2.Message),
            metadata=metadata(context.metadata, request_id),
        )
        if asked.provider != "openai" and context.system is not None:
            found.system_json = json.dumps(context.system)
        if asked.explain:
            found.explanation = text(context.explain())
        return found

    def untouched(self, request: Request, told: Metadata, request_id: str) -> Response:
        assert isinstance(request, context_pb2.AssembleContextRequest)
        return context_pb2.AssembleContextResponse(messages=request.messages, metadata=metadata(told, request_id))


class IbexAnswers:
    """Its messages are text alone, and so is what is added to them."""

    def full(self, context: Context, asked: Asking, request_id: str) -> Response:
        return ibex_pb2.AssembleContextResponse(
            messages=asked.conversation.answered(context.messages, ibex_pb2.Message),
            metadata=ibex_metadata(context.metadata),
        )

    def untouched(self, request: Request, told: Metadata, request_id: str) -> Response:
        assert isinstance(request, ibex_pb2.AssembleContextRequest)
        return ibex_pb2.AssembleContextResponse(messages=request.messages, metadata=ibex_metadata(told))
