"""Assemble response: writes an assembled context as the response of germane's contract or of the ibex contract."""

from __future__ import annotations

import json
from typing import Protocol

from germane.grpc.assemble_request import AssembleArguments, Request
from germane.grpc.stubs import context_pb2, ibex_pb2
from germane.grpc.to_wire import ibex_metadata, metadata, text
from germane.types.context import Context, Metadata
from germane.types.message import system_text

__all__ = ["GermaneResponses", "IbexResponses", "Response", "Responses"]

Response = context_pb2.AssembleContextResponse | ibex_pb2.AssembleContextResponse


class Responses(Protocol):
    """Makes the responses of one contract."""

    def assembled(self, context: Context, arguments: AssembleArguments, request_id: str) -> Response:
        """Returns the response with an assembled context."""

    def unchanged(self, request: Request, report: Metadata, request_id: str) -> Response:
        """Returns the response with the request's own messages and system prompt."""


class GermaneResponses:
    """`germane.context.v1`."""

    def assembled(self, context: Context, arguments: AssembleArguments, request_id: str) -> Response:
        response = context_pb2.AssembleContextResponse(
            messages=arguments.conversation.to_wire(context.messages, context_pb2.Message),
            metadata=metadata(context.metadata, request_id),
        )
        if arguments.provider != "openai" and context.system is not None:
            response.system_json = json.dumps(context.system)
        if arguments.explain:
            response.explanation = text(context.explain())
        return response

    def unchanged(self, request: Request, report: Metadata, request_id: str) -> Response:
        assert isinstance(request, context_pb2.AssembleContextRequest)
        own = request.options.system_json
        apart = own if request.options.provider not in ("", "openai") else ""
        response = context_pb2.AssembleContextResponse(system_json=apart, metadata=metadata(report, request_id))
        if own and not apart and (said := system_text(json.loads(own))):
            response.messages.add(role="system", content=text(said))
        response.messages.extend(request.messages)
        return response


class IbexResponses:
    """`ibex.context.v1`, whose messages have only a role and a text."""

    def assembled(self, context: Context, arguments: AssembleArguments, request_id: str) -> Response:
        return ibex_pb2.AssembleContextResponse(
            messages=arguments.conversation.to_wire(context.messages, ibex_pb2.Message),
            metadata=ibex_metadata(context.metadata),
        )

    def unchanged(self, request: Request, report: Metadata, request_id: str) -> Response:
        assert isinstance(request, ibex_pb2.AssembleContextRequest)
        return ibex_pb2.AssembleContextResponse(messages=request.messages, metadata=ibex_metadata(report))
