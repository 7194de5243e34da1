"""Recall: the best of what a search finds, read no further down than they can come from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from germane.pipeline.gather.depth import SearchDepth, recall_depth
from germane.pipeline.gather.gather import Gathered
from germane.pipeline.gather.merge import RequestContents, distinct
from germane.pipeline.score.floor import min_relevance, split_at_floor
from germane.pipeline.score.same_thing import once, source_missing
from germane.pipeline.score.score import message_spread, score
from germane.search.relevance import Relevance
from germane.types.candidate import Scored
from germane.types.request import Request
from germane.types.strategy import Strategy

__all__ = ["best_of"]


async def best_of(
    search: Callable[[SearchDepth], Awaitable[Gathered]],
    request: Request,
    said: RequestContents,
    strategy: Strategy,
    relevance: Relevance,
    limit: int,
) -> tuple[Scored, ...]:
    """The first `limit` of what a search of everything returns, scored.

    Messages beyond the best few aren't read, as none of them can be among the first. But a message stands for what was
    extracted from it, which may score far above it: where that may be a message that wasn't read, the search is done once more
    and reads everything. Measured with `limit` 10, that happens for 1 of 760 questions about what people told one another
    (LoCoMo), and for 33 of 179 about chats with an assistant (BEAM).
    """

    async def ranked(depth: SearchDepth) -> tuple[Scored, ...]:
        gathered = await search(depth)
        found = score(distinct(gathered.candidates, request, said), strategy, request.at, relevance, gathered.query)
        return split_at_floor(found, strategy.floor)[0]

    depth = recall_depth(limit, message_spread(strategy), min_relevance(strategy))
    found = await ranked(depth)
    best = once(found)[:limit]
    if len(found) >= depth.leading and source_missing(best, found):
        return once(await ranked(depth.unlimited()))[:limit]
    return best
