"""What an operator asks the retention function for: events sent to it, here or in an account."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local.errors import BadInput, LocalError

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client

LONGEST_S = 900
"""The function's own time; a client that gives up earlier would send the event again."""
_PRIVATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_CREDENTIALS = "check the credentials, --stage and --region"

_BEGUN = "its log says more; what was begun goes on with the next run"
_NOTHING_BEGUN = "nothing was removed; it goes once the product calls it disabled"
_REFUSAL = "only a disabled one is purged"
"""Of the function's own words: the emulator does not pass on which error it was."""


class NotDone(LocalError):
    """The function refused or failed."""


@contextmanager
def claim_file(path: Path) -> Iterator[None]:
    """Make the file that an export is to be written to, and take it away again if that fails.

    One that is there is left alone: a purge that is asked for twice has nothing to export the second time.

    Raises:
        BadInput: it is there, or cannot be made; nothing has been asked for yet.
    """
    try:
        os.close(os.open(path, _NEW, 0o600))
    except OSError as failure:
        raise BadInput(
            f"--export: {failure}", "nothing was removed; name a file that is not there yet"
        ) from failure
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeper:
    """The retention function of one stage, and the bucket its exports are in."""

    functions: "LambdaClient"
    objects: "S3Client"
    function_name: str
    bucket: str

    def send(self, event: Mapping[str, object]) -> Mapping[str, Any]:
        """Send an event, wait for its end and return what the function says.

        Raises:
            NotDone: it refused or failed; says why, as the function does.
        """
        try:
            answer = self.functions.invoke(
                FunctionName=self.function_name, Qualifier="live", Payload=json.dumps(event).encode()
            )
            said = json.loads(answer["Payload"].read())
        except (ClientError, BotoCoreError) as failure:
            # It runs one at a time, and the sweep may take all of its minutes.
            is_busy = "TooManyRequestsException" in str(failure)
            hint = "it is at work; try again in a quarter of an hour" if is_busy else _CREDENTIALS
            raise LocalError(f"the retention function cannot be called: {failure}", hint) from failure
        if answer.get("FunctionError"):
            reason = said.get("errorMessage", "it does not say why") if isinstance(said, dict) else said
            raise NotDone(str(reason), _NOTHING_BEGUN if _REFUSAL in str(reason) else _BEGUN)
        return dict(said)

    def keeps(self, organisation: str) -> bool:
        """Say whether anything is kept of an organisation; raises what `send` raises."""
        return organisation in self.send({"kind": "sweep", "dryRun": True})["organisations"]

    def fetch_export(self, key: str, path: Path) -> None:
        """Write an export to a file, which only its owner may read."""
        try:
            body = self.objects.get_object(Bucket=self.bucket, Key=key)["Body"]
            with os.fdopen(os.open(path, _PRIVATE, 0o600), "wb") as file:
                for chunk in body.iter_chunks():
                    file.write(chunk)
        except (ClientError, BotoCoreError, OSError) as failure:
            raise LocalError(
                f"the export was not written: {failure}", f"it is s3://{self.bucket}/{key}"
            ) from failure
