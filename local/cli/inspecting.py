"""What a turn had beside what it used, for a person to read."""

from collections.abc import Iterator
from typing import Any

Found = dict[str, Any]


def describe_inspection(found: Found) -> Iterator[str]:
    """Yield the turn's blocks, tools, corpora and passages, each with what became of it."""
    yield f"blocks       {_list_blocks(found['blocks'])}"
    yield f"tools        {', '.join(_describe_tool(tool) for tool in found['tools']) or 'none'}"
    offered = "all this person may read" if found["corpora"] is None else ", ".join(found["corpora"])
    yield f"corpora      {offered or 'none'}; searched: {', '.join(found['searched']) or 'none'}"
    items = found["grounding"]
    cited = [item for item in items if item["cited"]]
    yield f"grounding    {len(items)} passages, {len(cited)} of them cited"
    yield from (f"{'':13}{_describe_item(item)}" for item in cited)


def _list_blocks(blocks: list[Found]) -> str:
    """Return their names and sizes in the order of the record; a bar stands where the cache ends."""
    told, was_cached = "", False
    for block in blocks:
        between = " | " if was_cached and not block["cached"] else ", " if told else ""
        told += f"{between}{block['name']} {block['characters']}"
        was_cached = block["cached"]
    return told or "none"


def _describe_tool(tool: Found) -> str:
    used = f"called {tool['calls']} times" if tool["calls"] != 1 else "called once"
    if tool["state"] == "offered":
        return f"{tool['name']} ({used if tool['calls'] else 'not called'})"
    why = str(tool["reason"] or "nobody offered it").replace("_", " ")
    return f"{tool['name']} ({tool['state']}: {why}{', ' + used if tool['calls'] else ''})"


def _describe_item(item: Found) -> str:
    version = f" v{item['version']}" if item["version"] is not None else ""
    score = f", score {item['score']:g}" if item["score"] is not None else ""
    return f"{item['passageId']}{version} of {item['documentId']}, by {item['source']}{score}"
