"""What is documented of data's life is what the rules say."""

from typing import get_args

import pytest
from equerry.domain.data_rules import RULES, Erasure, Keeping, Offboarding

from tests.unit.architecture.documents import read_names, read_section


@pytest.mark.req("F-BKP-01")
def test_the_documented_rules_are_those_that_erasure_and_offboarding_go_by() -> None:
    section = "\n".join(read_section("data-life.md", "Rules").split("\n\n")[1:2])
    rows = [line for line in section.splitlines() if line.startswith("| `")]

    assert rows == [
        f"| `{rule.name}` | {rule.store} | `{rule.kept}` | `{rule.erased}` | `{rule.offboarded}`"
        f" | `{rule.backup}` |"
        for rule in RULES
    ]


def test_every_word_of_a_rule_is_explained() -> None:
    section = read_section("data-life.md", "Rules").split("| Word | Means |")[1]
    explained = {
        name
        for line in section.splitlines()
        if line.startswith("| `")
        for name in read_names(line.split("|")[1])
    }

    words = {*get_args(Keeping), *get_args(Erasure), *get_args(Offboarding)}
    assert words - {"by_organisation"} <= explained


def test_backups_tell_of_every_kind() -> None:
    lines = read_section("backup.md", "Backups").splitlines()
    told = {line.split("|")[1].strip() for line in lines if line.startswith("| ")}

    assert {rule.backup for rule in RULES} <= told
