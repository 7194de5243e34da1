"""The language model as an argument, and as a setting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput
from germane.settings.settings import Settings
from germane_testing.provider import Failure, local_provider
from support.scripted_llm import ScriptedLLM, entry, listed

pytestmark = pytest.mark.requirement("MEM-7")

LOVES = entry("The user loves green tea in the morning.")
TALK = [{"role": "user", "content": "I really love green tea in the morning."}]


async def test_an_endpoint_configured_by_name_is_asked_over_http(tmp_path: Path) -> None:
    """Settings and environment name the model, its address and its key; an endpoint that is away doesn't keep from opening."""
    async with local_provider() as server:
        environ = {"GERMANE_LLM": "openai:m", "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "sk-x"}
        settings = Settings.load(None, environ)
        assert "sk-x" not in repr(settings)
        server.script = [Failure(401), listed(LOVES)]
        async with Germane.open(tmp_path / "a.db", settings=settings, warm=False, freeze=False) as germane:
            agent = germane.agent(user="ana")
            await agent.record(TALK, session="s")
            assert (await agent.extract()).stopped == "the LLM at 127.0.0.1 answered 401: check the API key"
            assert (await agent.extract()).memories == 1
        assert server.requests[0].header("Authorization") == "Bearer sk-x"
    away = Settings(llm="http://127.0.0.1:9/v1#m", extraction=False)
    async with Germane.open(tmp_path / "b.db", settings=away, warm=False, freeze=False) as germane:
        assert germane.state.llm_fault == ""


@pytest.mark.parametrize(
    ("llm", "said"), [(7, "not int"), (ScriptedLLM, "not the class"), (lambda prompt: prompt, "write it as  async def")]
)
def test_a_model_that_cant_be_used_is_refused(llm: Any, said: str) -> None:
    """`Germane.open` says what `llm` may be."""
    with pytest.raises(InvalidInput, match=said):
        Germane.open(":memory:", llm=llm)
