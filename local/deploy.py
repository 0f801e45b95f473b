"""Deploys the CDK app to the emulator with the stock command line, as anybody would deploy it to AWS."""

import hashlib
import json
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path

from botocore.exceptions import ClientError

from local.aws import Session, build_environment
from local.errors import PartFailed
from local.files import read_json, write_json
from local.machine import find_architecture, find_cdk, find_python, require_node
from local.places import ACCOUNT, REGION, ROOT, STACK, Places
from local.progress import Progress, Tell
from local.restoring import restore

SOURCES = (
    "app.py",
    "cdk.json",
    "package-lock.json",
    "infra",
    "functions",
    "layers",
    "profiles",
    "migrations",
)
COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
TIMEOUT_S = 600
KEPT_LINES = 25


def deploy(places: Places, progress: Progress, *, owner_password: str, model: dict[str, str]) -> bool:
    """Deploy the local stage unless nothing it is made of has changed; return whether it was deployed.

    Raises:
        PartFailed: the command line failed; the message ends with what it said.
        MissingTool: Node or the CDK command line is absent.
    """
    overrides = places.state / "overrides.toml"
    _write_overrides(overrides, places, owner_password, model)
    signature = _sign(overrides)
    stamp = places.state / "deployed.json"
    session = Session(places)
    if read_json(stamp) == signature and places.outputs.exists() and _is_complete(session, STACK):
        progress.say("✓ deployed already, nothing changed")
        return False
    tool = _Tool(places, require_node())
    if not _is_complete(session, "CDKToolkit"):
        with (
            progress.step("bootstrapping the emulated account") as tell,
            tempfile.TemporaryDirectory() as empty,
        ):
            tool.run("bootstrap", f"aws://{ACCOUNT}/{REGION}", cwd=Path(empty), tell=tell)
    with progress.step("deploying the CDK app") as tell:
        stamp.unlink(missing_ok=True)
        tool.run(
            *("deploy", STACK, "--require-approval", "never", "--progress", "events"),
            *("--context", "stage=local", "--context", f"overrides={overrides}"),
            *("--output", str(places.state / "cdk.out"), "--outputs-file", str(places.outputs)),
            cwd=ROOT,
            tell=tell,
        )
    with progress.step("putting back what the emulator drops"):
        _restore(places, session)
    write_json(stamp, signature)
    return True


def load_outputs(places: Places) -> dict[str, str]:
    """Return the deployed stack's outputs.

    Raises:
        PartFailed: nothing has been deployed.
    """
    outputs = (read_json(places.outputs) or {}).get(STACK)
    if not isinstance(outputs, dict):
        raise PartFailed("the stack has no outputs: it is not deployed", "make up")
    return outputs


class _Tool:
    """The pinned CDK command line, pointed at the emulator; all it says goes to a log."""

    def __init__(self, places: Places, node: int) -> None:
        self._program = find_cdk()
        self._log = places.logs / "cdk.log"
        self._environment = build_environment(places) | {
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": str(node)
        }

    def run(self, *words: str, cwd: Path, tell: Tell) -> None:
        """Run one command to its end, passing its lines to `tell`."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        last: deque[str] = deque(maxlen=KEPT_LINES)
        with subprocess.Popen(
            [str(self._program), *words],
            cwd=cwd,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            timer = threading.Timer(TIMEOUT_S, process.kill)
            timer.start()
            try:
                with self._log.open("a") as log:
                    for line in process.stdout or ():
                        log.write(line)
                        last.append(line.rstrip())
                        tell(line.strip())
            except BaseException:
                process.kill()
                raise
            finally:
                timer.cancel()
        code = process.returncode
        if code != 0:
            raise PartFailed(f"`cdk {words[0]}` failed: {_summarise(last)}", f"see {self._log}")


def _summarise(lines: Iterable[str]) -> str:
    """Return the end of what the command line said, from its own summary on if it gave one."""
    said = [line for line in lines if line.strip()]
    for index, line in enumerate(said):
        if line.startswith(("❌", "Failed resources")):
            return "\n".join(said[index:])
    return "\n".join(said)


def _write_overrides(path: Path, places: Places, owner_password: str, model: dict[str, str]) -> None:
    tables: dict[str, Mapping[str, str | int]] = {
        "local": {"endpoint_url": places.aws_url},
        "runtime": {"python": find_python(), "architecture": find_architecture()},
        "database": {"port": places.postgres, "owner_password": owner_password},
        "auth": {"jwks_url": f"{places.issuer_url}/.well-known/jwks.json", "issuer": places.issuer_url},
        "directory": {"url": f"{places.issuer_url}/directory"},
        "identity": {
            "service_url": places.issuer_url,
            "minting": f"{places.issuer_url}/service-token",
        },
        "model": model,
    }
    lines = [f'allowed_origins = ["{places.chat_url}", "http://localhost:{places.chat}"]']
    for table, entries in tables.items():
        # A JSON string or number is a TOML one.
        lines += [f"[{table}]", *(f"{name} = {json.dumps(entry)}" for name, entry in entries.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text("\n".join(lines) + "\n")


def _sign(overrides: Path) -> str:
    digest = hashlib.sha256(overrides.read_bytes())
    for path in _source_files():
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _source_files() -> Iterable[Path]:
    for source in SOURCES:
        root = ROOT / source
        found = [root] if root.is_file() else sorted(root.rglob("*"))
        for path in found:
            if (
                path.is_file()
                and "__pycache__" not in path.parts
                and not any(p.endswith(".egg-info") for p in path.parts)
            ):
                yield path


def _restore(places: Places, session: Session) -> int:
    template = json.loads((places.state / "cdk.out" / f"{STACK}.template.json").read_text())
    pages = session.cloudformation.get_paginator("list_stack_resources").paginate(StackName=STACK)
    deployed = [resource for page in pages for resource in page["StackResourceSummaries"]]
    ids = {entry["LogicalResourceId"]: entry.get("PhysicalResourceId", "") for entry in deployed}
    return restore(session, template, ids)


def _is_complete(session: Session, stack: str) -> bool:
    try:
        found = session.cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError:
        return False
    return found[0]["StackStatus"] in COMPLETE
