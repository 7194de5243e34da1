"""LangGraph store: the whole contract of `BaseStore`, beside LangGraph's own store in memory, over facts of a scope."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from germane import Agent, Conflict, Germane, InvalidInput, sync
from germane.integrations.langgraph_store import GermaneStore, _fact_key, _tag
from germane.kinds.memories.fields import label
from germane.ports.models import Embedder
from support.examples import examples

pytestmark = pytest.mark.requirement("ADAPT-1")
GUESTS = ("guests", "ana")
VALUES: list[dict[str, Any]] = [
    {},
    {"text": ""},
    {"text": " two  blanks \t and\nlines \n"},
    {"text": "two  blanks"},
    {"text": "two blanks"},
    {"a": {"b": [1, 1.0, True, None, -0.0, 1e300, 2**70]}, "": "an empty name"},
    {"emoji": "👩‍👩‍👧 \u202e e\u0301 \u00e9", "nul": "\x00\x07"},
    {"list": [[], [[]], {}], "B": 1, "A": 2},
]
KEYS = [
    "k",
    "K",
    "",
    " ",
    " k",
    "a/b",
    "a.b",
    "a#b",
    "e\u0301",
    "\u00e9",
    "\x00",
    "\n",
    "x" * 300,
    "x" * 301,
    "\u0958" * 250,
    "日本",
]
NAMESPACES = [
    ("a",),
    ("a", "b"),
    ("a/b",),
    ("a", "B"),
    ("a b",),
    (" a",),
    ("a#b",),
    ("a",) * 12,
    ("x" * 90,),
    ("x" * 91,),
    ("é", "*"),
]


@pytest.fixture
async def store(agent: Agent) -> GermaneStore:
    return GermaneStore(agent)


@pytest.mark.parametrize("value", VALUES, ids=str)
async def test_a_value_comes_back_as_it_was_put(store: GermaneStore, value: dict[str, Any]) -> None:
    """Also in place of each other value: blanks, which facts otherwise ignore, are kept."""
    for index, before in enumerate(VALUES):
        await store.aput(GUESTS, str(index), before)
        await store.aput(GUESTS, str(index), value)
        found = await store.aget(GUESTS, str(index))
        assert found is not None
        assert repr(found.value) == repr(value)
    assert [repr(one.value) for one in await store.asearch(())] == [repr(value)] * len(VALUES)


async def test_odd_keys_and_namespaces_are_all_different(store: GermaneStore) -> None:
    """No two places are one, however they are spelt."""
    places = [(namespace, key) for namespace in NAMESPACES for key in KEYS]
    await store.abatch([PutOp(namespace, key, {"place": [*namespace, key]}) for namespace, key in places])
    for namespace, key in places:
        item = await store.aget(namespace, key)
        assert item is not None
        assert (item.namespace, item.key, item.value) == (namespace, key, {"place": [*namespace, key]})
    assert len(await store.asearch((), limit=1_000)) == len(places)
    assert await store.alist_namespaces() == sorted(NAMESPACES)
    for namespace in NAMESPACES:
        below = [one for one in places if one[0][: len(namespace)] == namespace]
        assert len(await store.asearch(namespace, limit=1_000)) == len(below)


NAMES = st.text(st.sampled_from("ab/.#: \u0301é\x00"), min_size=1, max_size=4)


@given(st.lists(NAMES, min_size=1, max_size=3), NAMES, st.lists(NAMES, min_size=1, max_size=3), NAMES)
@example(["a/b"], "k", ["a"], "b/k")
@example(["a.b"], "k", ["a", "b"], "k")
@example(["a"], "e\u0301", ["a"], "é")
@example(["a"], " k", ["a"], "k")
@examples(200)
def test_two_places_never_have_one_name(first: list[str], key: str, second: list[str], other: str) -> None:
    """The key of the fact and the tag are one to one, and are names that a fact can have."""
    assert (_fact_key(first, key) == _fact_key(second, other)) is ((first, key) == (second, other))
    assert (_tag(first) == _tag(second)) is (first == second)
    assert label("key", _fact_key(first, key)) == _fact_key(first, key)
    assert label("tag", _tag(first), max_length=64) == _tag(first)


FILTERS: list[dict[str, Any] | None] = [
    None,
    {},
    {"n": 3},
    {"n": {"$gte": 3, "$lt": 6}},
    {"n": {"$gt": 3}, "even": True},
    {"n": {"$ne": 3}},
    {"n": {"$eq": 3}},
    {"n": {"$lte": 0}},
    {"even": None},
    {"deep": {"list": [1, {"x": 3}]}},
    {"deep": {"list": [1]}},
    {"deep": {"list": [1, {"x": {"$gt": 5}}]}},
]


@pytest.mark.parametrize("chosen", FILTERS, ids=str)
async def test_filters_choose_what_langgraphs_own_store_chooses(store: GermaneStore, chosen: dict[str, Any] | None) -> None:
    own = InMemoryStore()
    for n in range(8):
        value = {"n": n, "even": n % 2 == 0, "deep": {"list": [1, {"x": n}], "more": n}}
        await store.aput(("f", str(n % 3)), str(n), value)
        own.put(("f", str(n % 3)), str(n), value)
    for prefix in ((), ("f",), ("f", "1"), ("g",)):
        mine = [one.value["n"] for one in await store.asearch(prefix, filter=chosen, limit=20)]
        assert sorted(mine) == sorted(one.value["n"] for one in own.search(prefix, filter=chosen, limit=20))
        pages = [await store.asearch(prefix, filter=chosen, limit=3, offset=offset) for offset in range(0, 9, 3)]
        assert [one.value["n"] for page in pages for one in page] == mine


async def test_a_filter_compares_what_can_be_compared(store: GermaneStore) -> None:
    """What has another type, or is missing, doesn't match; an unknown operator is refused."""
    await store.aput(GUESTS, "k", {"at": "2026-01-02"})
    assert len(await store.asearch(GUESTS, filter={"at": {"$gt": "2026-01-01"}})) == 1
    assert await store.asearch(GUESTS, filter={"at": {"$gt": 3}}) == []
    assert await store.asearch(GUESTS, filter={"none": {"$lt": 3}}) == []
    with pytest.raises(InvalidInput, match="operator"):
        await store.asearch(GUESTS, filter={"at": {"$regex": "(a+)+$"}})
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(InvalidInput):
        await store.asearch(GUESTS, filter=deep)


CONDITIONS: list[dict[str, Any]] = [
    {},
    {"prefix": ("a",)},
    {"prefix": ("a", "*", "v1")},
    {"suffix": ("v1",)},
    {"suffix": ("*", "v1")},
    {"prefix": ("a",), "suffix": ("v1",)},
    {"max_depth": 2},
    {"max_depth": 1, "prefix": ("a",)},
    {"limit": 2},
    {"limit": 2, "offset": 1},
    {"prefix": ("a", "b", "v1", "deep", "deeper")},
]


@pytest.mark.parametrize("asked", CONDITIONS, ids=str)
async def test_namespaces_are_listed_as_by_langgraphs_own_store(store: GermaneStore, asked: dict[str, Any]) -> None:
    own = InMemoryStore()
    for namespace in (("a", "b", "v1"), ("a", "c", "v1"), ("a", "c", "v2"), ("b", "v1"), ("a",), ("a", "b", "v1", "deep")):
        await store.aput(namespace, "k", {})
        own.put(namespace, "k", {})
    assert await store.alist_namespaces(**asked) == own.list_namespaces(**asked)


async def test_a_batch_reads_first_and_its_last_put_counts(store: GermaneStore) -> None:
    await store.aput(GUESTS, "k", {"n": 0})
    ops: list[Op] = [
        PutOp(GUESTS, "k", {"n": 1}),
        GetOp(GUESTS, "k"),
        PutOp(GUESTS, "k", {"n": 2}),
        PutOp(GUESTS, "gone", {"n": 3}),
        PutOp(GUESTS, "gone", None),
        SearchOp(GUESTS),
        ListNamespacesOp((MatchCondition("suffix", ("ana",)),)),
    ]
    results: list[Any] = await store.abatch(ops)
    assert [results[index] for index in (0, 2, 3, 4)] == [None] * 4
    assert (results[1].value, [one.value for one in results[5]], results[6]) == ({"n": 0}, [{"n": 0}], [GUESTS])
    assert [one.value for one in await store.asearch(GUESTS)] == [{"n": 2}]
    with pytest.raises(InvalidInput):
        await store.abatch([("get", "k")])  # type: ignore[list-item]


async def test_a_thousand_items_are_paged_and_deleted(store: GermaneStore) -> None:
    await store.abatch([PutOp(("bulk", str(n % 7)), str(n), {"n": n}) for n in range(1_000)])
    pages = [await store.asearch(("bulk",), limit=300, offset=offset) for offset in range(0, 1_200, 300)]
    assert [len(page) for page in pages] == [300, 300, 300, 100]
    assert sorted(one.value["n"] for page in pages for one in page) == list(range(1_000))
    await store.abatch([PutOp(("bulk", str(n % 7)), str(n), None) for n in range(1_000) if n % 7 != 3])
    assert await store.alist_namespaces() == [("bulk", "3")]


async def test_many_writers_of_one_item_leave_one_value(store: GermaneStore, agent: Agent) -> None:
    """The item is created once, however many put it at the same time, and no conflict waits for a person."""
    await asyncio.gather(*(store.aput(GUESTS, "k", {"n": n}) for n in range(40)))
    (item,) = await store.asearch(GUESTS)
    assert item.value in [{"n": n} for n in range(40)]
    assert (await agent.stats()).memories == {"fact": 1}
    assert await agent.memories.review() == ()
    await asyncio.gather(*(store.adelete(GUESTS, "k") for _ in range(5)), store.aput(GUESTS, "k", {"n": 1}))
    await store.adelete(GUESTS, "k")
    assert await store.aget(GUESTS, "k") is None


async def test_a_put_keeps_the_beginning_and_a_new_item_has_its_own(store: GermaneStore) -> None:
    await store.aput(GUESTS, "k", {"n": 1})
    first = await store.aget(GUESTS, "k")
    await store.aput(GUESTS, "k", {"n": 2})
    second = await store.aget(GUESTS, "k")
    assert first is not None
    assert second is not None
    assert first.created_at == second.created_at <= first.updated_at <= second.updated_at
    await store.adelete(GUESTS, "k")
    await store.adelete(GUESTS, "k")
    await store.aput(GUESTS, "k", {"n": 1})
    third = await store.aget(GUESTS, "k")
    assert third is not None
    assert third.created_at >= second.updated_at


async def test_what_tools_put_is_searched_and_shown(store: GermaneStore, agent: Agent) -> None:
    """With a query the best comes first, and only what answers; `index=False` keeps an item for the tools alone."""
    await store.aput(GUESTS, "diet", {"eats": "Ana eats vegan food, but honey is fine"})
    await store.aput(("guests", "ben"), "diet", {"eats": "Ben eats vegan food as well"})
    await store.aput(GUESTS, "city", {"lives": "in Lisbon by the river"})
    await store.aput(GUESTS, "cursor", {"note": "vegan vegan vegan honey"}, index=False)
    found = await store.asearch(GUESTS, query="Is honey vegan food?")
    assert found[0].key == "diet"
    assert found[0].score is not None
    assert "cursor" not in {one.key for one in found}
    assert {one.key for one in await store.asearch(GUESTS)} == {"diet", "city", "cursor"}
    assert {one.namespace for one in await store.asearch(("guests",), query="vegan food")} == {GUESTS, ("guests", "ben")}
    assert await store.asearch(GUESTS, query="vegan food", limit=1, offset=5) == []
    context = await agent.assemble([{"role": "user", "content": "May Ana have honey?"}], model="gpt-5.4", deadline=None)
    assert "honey is fine" in str(context.messages)
    assert "vegan vegan vegan" not in str(context.messages)
    assert (await agent.search("honey"))[0].candidate.title == "guests.ana/diet"


async def test_like_values_under_other_keys_are_all_found(store: GermaneStore) -> None:
    for key in ("a", "b", "c"):
        await store.aput(GUESTS, key, {"text": "The guest likes a quiet room on the top floor"})
    assert {one.key for one in await store.asearch(GUESTS, query="quiet room")} == {"a", "b", "c"}


async def test_a_deleted_or_replaced_value_is_in_no_file(embedder: Embedder, tmp_path: Path) -> None:
    """Both are forgetting: nothing of the text is left in the store's files."""
    async with Germane.open(tmp_path / "g.db", embedder=embedder, warm=False) as germane:
        store = GermaneStore(germane.agent("support", user="caroline"))
        await store.aput(GUESTS, "k", {"text": "xylophone-one"})
        await store.aput(GUESTS, "k", {"text": "xylophone-two"})
        await store.adelete(GUESTS, "k")
        assert await store.asearch((), query="xylophone-one") == []
        files = _bytes_in(tmp_path)
        assert b"xylophone-two" not in files
        assert b"xylophone-one" not in files


def _bytes_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


@pytest.mark.requirement("SCOPE-3")
async def test_the_user_is_the_agents(germane: Germane) -> None:
    """Neither another user's, another agent's nor an agent-wide store sees an item, whatever the namespace says."""
    agents = [germane.agent("support", user=user) for user in ("ana", "ben", None)] + [germane.agent("sales", user="ana")]
    stores = [GermaneStore(one) for one in agents]
    for n, one in enumerate(stores):
        await one.aput(GUESTS, "k", {"of": n, "text": "a violet bicycle"})
    for n, one in enumerate(stores):
        item = await one.aget(GUESTS, "k")
        assert item is not None
        assert item.value["of"] == n
        assert [found.value["of"] for found in await one.asearch(())] == [n]
        assert [found.value["of"] for found in await one.asearch((), query="violet bicycle")] == [n]
    await stores[0].adelete(GUESTS, "k")
    assert [await one.aget(GUESTS, "k") is not None for one in stores] == [False, True, True, True]


@pytest.mark.requirement("SAFE-2")
async def test_a_secret_is_refused_and_nothing_is_stored(store: GermaneStore, opening: Callable[..., Any]) -> None:
    """A redacted value wouldn't be the value. Where the policy keeps secrets, it comes back, and no context has it."""
    secret = "sk-proj-" + "abcdefghijklmnopqrstuvwxyz0123456789ABCDEF"
    await store.aput(GUESTS, "k", {"n": 1})
    for key, value in (("k", {"key": secret}), (secret, {"n": 2}), ("k", {secret: 1}), ("k", {"deep": [{"x": secret}]})):
        with pytest.raises(InvalidInput) as raised:
            await store.aput(GUESTS, key, value)
        assert secret not in str(raised.value)
    with pytest.raises(InvalidInput):
        await store.aput((secret,), "k", {"n": 2})
    assert [one.value for one in await store.asearch(())] == [{"n": 1}]
    async with opening(secrets="tag") as germane:
        agent = germane.agent("support", user="ana")
        await GermaneStore(agent).aput(GUESTS, "k", {"key": secret})
        item = await GermaneStore(agent).aget(GUESTS, "k")
        assert item is not None
        assert item.value == {"key": secret}
        context = await agent.assemble([{"role": "user", "content": "What's my key k?"}], model="gpt-5.4", deadline=None)
        assert secret not in str(context.messages)


async def test_what_cannot_be_kept_exactly_is_refused(store: GermaneStore) -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"a": deep}
    for value in (
        {1: "x"},
        {"a": {True: 1}},
        {"x": float("nan")},
        {"x": object()},
        {"x": "\ud800"},
        loop,
        deep,
        {"x": "y" * 100_001},
    ):
        with pytest.raises(InvalidInput):
            await store.aput(GUESTS, "k", value)  # type: ignore[arg-type]
    for key in ("\ud800", "k" * 200_000):
        with pytest.raises(InvalidInput):
            await store.aput(GUESTS, key, {})
    for op in (PutOp(("",), "k", {}), PutOp((1,), "k", {}), GetOp(("",), "k"), SearchOp(("",))):  # type: ignore[arg-type]
        with pytest.raises(InvalidNamespaceError):
            await store.abatch([op])
    below: list[Op] = [SearchOp((), limit=-1), SearchOp((), offset=-1), ListNamespacesOp(limit=-1)]
    for negative in below:
        with pytest.raises(InvalidInput):
            await store.abatch([negative])
    assert await store.asearch(()) == []
    await store.aput(GUESTS, "k", {"tuple": (1, (2,))})
    item = await store.aget(GUESTS, "k")
    assert item is not None
    assert item.value == {"tuple": [1, [2]]}


async def test_nothing_expires(store: GermaneStore) -> None:
    """A time to live is refused and not ignored, also in a batch."""
    assert not store.supports_ttl
    with pytest.raises(NotImplementedError):
        await store.aput(GUESTS, "k", {}, ttl=5)
    with pytest.raises(NotImplementedError):
        await store.abatch([PutOp(GUESTS, "k", {}, ttl=5)])
    assert await store.aget(GUESTS, "k") is None


async def test_a_fact_of_somebody_else_stays(store: GermaneStore, agent: Agent) -> None:
    """One that was remembered under the same key is neither read, replaced nor deleted."""
    fact = await agent.remember(kind="fact", key="guests.ana/k", value="mine")
    assert await store.aget(GUESTS, "k") is None
    with pytest.raises(Conflict):
        await store.aput(GUESTS, "k", {})
    await store.adelete(GUESTS, "k")
    assert (await agent.memories.get(fact.id)).text == fact.text


@pytest.mark.requirement("MEM-2")
async def test_an_export_holds_the_items_and_forgetting_the_user_takes_them(
    agent: Agent, tmp_path: Path, embedder: Embedder
) -> None:
    store = GermaneStore(agent)
    await store.aput(GUESTS, "k" * 300, {"text": "two  blanks"})
    lines = [line async for line in agent.export()]
    await agent.forget(everything=True)
    assert await store.asearch(()) == []
    assert await store.alist_namespaces() == []
    async with Germane.open(tmp_path / "elsewhere.db", embedder=embedder) as elsewhere:
        other = elsewhere.agent("support", org="acme", user="caroline")
        await other.restore(lines)
        item = await GermaneStore(other).aget(GUESTS, "k" * 300)
        assert item is not None
        assert item.value == {"text": "two  blanks"}
        assert [one.key for one in await GermaneStore(other).asearch(("guests",))] == ["k" * 300]


async def test_other_threads_may_use_an_awaited_agents_store(store: GermaneStore) -> None:
    """Tools in threads use the methods without `a`; on the event loop itself these are refused instead of hanging."""
    await asyncio.to_thread(store.put, GUESTS, "k", {"n": 1})
    assert (await asyncio.to_thread(store.get, GUESTS, "k")).value == {"n": 1}  # type: ignore[union-attr]
    with pytest.raises(RuntimeError, match="await"):
        store.get(GUESTS, "k")
    elsewhere = await asyncio.to_thread(lambda: asyncio.run(store.aget(GUESTS, "k")))
    assert elsewhere is not None


def test_an_agent_of_germane_sync_serves_both(embedder: Embedder, tmp_path: Path) -> None:
    with sync.Germane.open(tmp_path / "g.db", embedder=embedder, warm=False) as germane:
        store = GermaneStore(germane.agent("support", user="ana"))
        store.put(GUESTS, "k", {"text": "a violet bicycle"})
        assert [one.key for one in store.search(GUESTS, query="bicycle")] == ["k"]
        assert asyncio.run(store.aget(GUESTS, "k")) == store.get(GUESTS, "k")
        assert store.list_namespaces() == [GUESTS]
        store.delete(GUESTS, "k")
        assert store.get(GUESTS, "k") is None
    with pytest.raises(InvalidInput):
        GermaneStore("support")  # type: ignore[arg-type]


class Steps(TypedDict):
    done: bool


async def test_a_graph_of_langgraphs_uses_it(store: GermaneStore) -> None:
    """Nodes that await, and nodes in threads."""

    async def first(state: Steps, runtime: Runtime) -> Steps:
        assert runtime.store is not None
        await runtime.store.aput(GUESTS, "k", {"n": 1})
        return {"done": True}

    def second(state: Steps, runtime: Runtime) -> Steps:
        assert runtime.store is not None
        item = runtime.store.get(GUESTS, "k")
        runtime.store.put(GUESTS, "k", {"n": item.value["n"] + 1})  # type: ignore[union-attr]
        return {"done": True}

    graph = StateGraph(Steps)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    graph.add_edge("second", END)
    await graph.compile(store=store).ainvoke({"done": False})
    item = await store.aget(GUESTS, "k")
    assert item is not None
    assert item.value == {"n": 2}
