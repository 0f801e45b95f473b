"""An operator's switches: reads and writes the parameters that functions go by."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from botocore.exceptions import BotoCoreError, ClientError
from equerry.domain.switches import NOTHING_OFF, NamedLevel, is_switch_name, read_names, read_switch
from equerry.runtime.tools import PACKS

from local.errors import BadInput, LocalError
from local.places import STAGE

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

LEVELS: tuple[NamedLevel, ...] = get_args(NamedLevel)
PLATFORM = "platform"


@dataclass(frozen=True, slots=True)
class Switchboard:
    """The switches of one stage; two operators who write one level at once overwrite each other."""

    ssm: "SSMClient"
    stage: str

    def list_states(self) -> dict[str, str]:
        """Return what each level says, in words."""
        said = self._read([self._name_of(level) for level in (PLATFORM, *LEVELS)])
        on = read_switch(said.get(self._name_of(PLATFORM)))
        states = {PLATFORM: {True: "on", False: "off", None: "says nothing, so nothing changes"}[on]}
        for level in LEVELS:
            off = read_names(said.get(self._name_of(level), NOTHING_OFF))
            words = [f"off: {', '.join(sorted(off.names))}"] if off.names else []
            words += [f"unreadable: {', '.join(map(repr, off.malformed))}"] if off.malformed else []
            states[level] = "; ".join(words) or "on"
        return states

    def turn(self, level: str, name: str | None, *, on: bool, unknown: bool = False) -> None:
        """Write one level's parameter.

        Raises:
            BadInput: no such level, a name that is missing or cannot be one, or a tool or pack nobody has.
            LocalError: Systems Manager refused, or what it holds for the level cannot be read whole.
        """
        self._require_stage()
        if level == PLATFORM:
            if name is not None:
                raise BadInput("the platform has no name", f"equerry switch {'on' if on else 'off'} platform")
            self._write(level, "true" if on else "false")
            return
        _check(level, name, unknown=unknown or on)
        off = read_names(self._read([self._name_of(level)]).get(self._name_of(level), NOTHING_OFF))
        if off.malformed:
            entries = ", ".join(map(repr, off.malformed))
            raise LocalError(
                f"{self._name_of(level)} holds {entries}", "put it right with aws ssm put-parameter"
            )
        names = off.names - {name} if on else off.names | {name}
        self._write(level, ",".join(sorted(str(one) for one in names)) or NOTHING_OFF)

    @property
    def _hint(self) -> str:
        return "make up" if self.stage == STAGE else "check the credentials, --stage and --region"

    def _require_stage(self) -> None:
        """A parameter that functions do not read must not come to be by a slip of the pen."""
        if not self._read([self._name_of(PLATFORM)]):
            raise LocalError(f"there is no stage {self.stage!r} in this account and region", self._hint)

    def _name_of(self, level: str) -> str:
        base = f"/equerry/{self.stage}"
        return f"{base}/assistant-enabled" if level == PLATFORM else f"{base}/off/{level}"

    def _read(self, names: list[str]) -> dict[str, str]:
        try:
            answer = self.ssm.get_parameters(Names=names)
        except (ClientError, BotoCoreError) as failure:
            raise LocalError(f"the switches cannot be read: {failure}", self._hint) from failure
        return {entry["Name"]: entry["Value"] for entry in answer["Parameters"]}

    def _write(self, level: str, text: str) -> None:
        try:
            self.ssm.put_parameter(Name=self._name_of(level), Value=text, Type="String", Overwrite=True)
        except (ClientError, BotoCoreError) as failure:
            raise LocalError(f"the switch was not turned: {failure}", self._hint) from failure


def _check(level: str, name: str | None, *, unknown: bool) -> None:
    if level not in LEVELS:
        raise BadInput(f"there is no level {level!r}", f"levels are {', '.join((PLATFORM, *LEVELS))}")
    if name is None:
        raise BadInput(f"which {level}? It needs a name", f"equerry switch off {level} NAME")
    if not is_switch_name(name):
        raise BadInput(f"{name!r} cannot be the name of a {level}", f"equerry switch off {level} NAME")
    known = {"tool": sorted(PACKS), "pack": sorted(set(PACKS.values()))}.get(level)
    if known is not None and name not in known and not unknown:
        raise BadInput(
            f"there is no {level} {name!r} in this version: {', '.join(known)}",
            "--unknown turns it off all the same",
        )
