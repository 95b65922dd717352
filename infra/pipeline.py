"""The repository on GitHub whose workflows may deploy, and the tokens by which AWS knows them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# The identity provider of GitHub's workflows, and the audience for which `configure-aws-credentials` asks.
ISSUER = "token.actions.githubusercontent.com"
AUDIENCE = "sts.amazonaws.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A repository and its branch that is deployed.

    `gh api repos/OWNER/REPOSITORY --jq .owner.id,.id` prints the two ids. Names can be given up and taken by others,
    ids cannot.
    """

    owner: str
    owner_id: int
    repository: str
    repository_id: int
    branch: str = "main"
    # Environments whose account knows GitHub already, such as by the stack of another region: an account can have one
    # provider of an address only. The stack `gleaner-pipeline-provider` makes it for the others.
    provider_exists_for: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for names that GitHub does not give, and patterns in their place."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*", self.owner):
            raise ValueError(f"{self.owner} is no owner of repositories on GitHub.")
        if not re.fullmatch(r"[\w.-]+", self.repository, re.ASCII):
            raise ValueError(f"{self.repository} is no name of a repository on GitHub, without its owner.")
        if not re.fullmatch(r"[\w./-]+", self.branch, re.ASCII):
            raise ValueError(f"{self.branch} is no name of a branch.")
        if min(self.owner_id, self.repository_id) <= 0:
            raise ValueError("The ids of owner and repository are positive numbers.")

    def claims(self, environment: str) -> dict[str, Sequence[str]]:
        """What a token must say of itself to deploy this environment: the values that each claim may have.

        The subject of a job in an environment names the environment instead of the branch, so the branch is asked for
        separately. A subject has ids since 2026-07-15, in repositories that are new, were renamed, or chose so
        (docs.github.com: OpenID Connect reference, immutable subject claims). The other form alone would also be that
        of a stranger who takes an abandoned name; the id of the repository excludes that. IAM evaluates these claims
        (docs.aws.amazon.com/IAM: available keys for AWS OIDC federation).
        """
        with_ids = f"{self.owner}@{self.owner_id}/{self.repository}@{self.repository_id}"
        names = f"{self.owner}/{self.repository}"
        return {
            "aud": [AUDIENCE],
            "sub": [f"repo:{repository}:environment:{environment}" for repository in (with_ids, names)],
            "repository_id": [str(self.repository_id)],
            "ref": [f"refs/heads/{self.branch}"],
        }
