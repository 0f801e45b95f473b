"""Which pack a tool comes in is where it stands."""

from importlib import import_module

import pytest
from equerry.runtime.tools import derive_pack

from tests.unit.architecture.source import Class, classes_of

TOOLS = [cls for cls in classes_of("packs") if cls.name.endswith("Tool")]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda cls: cls.name)
def test_each_tool_is_known_by_the_folder_of_its_pack(tool: Class) -> None:
    build = getattr(import_module(tool.module.name), tool.name)

    assert derive_pack(build(None).spec.name) == tool.module.name.split(".")[2]


def test_a_tool_of_nobody_s_is_in_no_pack() -> None:
    assert TOOLS
    assert derive_pack("launch_rocket") == ""
