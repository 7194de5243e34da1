"""Projects: one for each repository, with all of its worktrees, and none for what only claims to belong to one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from germane.service.hooks.projects import project_of

pytestmark = pytest.mark.requirement("HOOK-2")


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    made.mkdir()
    git(made, "init")
    git(made, "commit", "--allow-empty", "-m", "first")
    return made


def test_folders_of_a_repository_are_one_project(repository: Path) -> None:
    """Its name begins the agent's; a folder that isn't there any more counts too."""
    inner = repository / "src" / "deep"
    inner.mkdir(parents=True)
    assert project_of(str(inner)) == project_of(str(repository)) == project_of(str(repository / "gone"))
    assert project_of(str(repository)).root == repository
    assert project_of(str(repository)).agent.startswith("shop-")


def test_worktrees_of_a_repository_are_one_project(repository: Path) -> None:
    """Wherever they are."""
    git(repository, "worktree", "add", str(repository.parent / "elsewhere"))
    assert project_of(str(repository.parent / "elsewhere")) == project_of(str(repository))


def test_projects_of_one_name_are_apart(tmp_path: Path) -> None:
    """So are folders outside of any repository."""
    for place in ("a/shop", "b/shop"):
        (tmp_path / place).mkdir(parents=True)
    one, other = (project_of(str(tmp_path / place)) for place in ("a/shop", "b/shop"))
    assert one.name == other.name
    assert one.agent != other.agent


def test_a_folder_cant_claim_to_be_a_worktree_of_another(repository: Path) -> None:
    """A file from elsewhere that names a repository's folder gives nothing of that repository's memory."""
    git(repository, "worktree", "add", str(repository.parent / "real"))
    thief = repository.parent / "thief"
    thief.mkdir()
    (thief / ".git").write_text((repository.parent / "real" / ".git").read_text())
    assert project_of(str(thief)) != project_of(str(repository))
    for claim in (f"gitdir: {repository}/.git", "gitdir: ", "nothing", f"gitdir: {repository}/.git/worktrees/none"):
        (thief / ".git").write_text(claim)
        assert project_of(str(thief)).root == thief


def test_odd_names_are_names_of_agents(tmp_path: Path) -> None:
    """Whatever the folder is called."""
    for name in ("Käse & Brot", "…", "a" * 200, "--x", "new\nline"):
        (tmp_path / name).mkdir()
        agent = project_of(str(tmp_path / name)).agent
        assert agent.isascii()
        assert agent.isprintable()
        assert len(agent) < 80
        assert "/" not in agent
