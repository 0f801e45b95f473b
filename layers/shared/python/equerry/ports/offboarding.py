"""What ends an organisation: what the product says of it, its clock, its rows, and its export."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Protocol

from equerry.domain.retention import OffboardingClock, OrganisationStatus
from equerry.kernel.identifiers import OrganisationId


class OrganisationStatusPort(Protocol):
    """The product's directory of organisations."""

    def fetch_status(self, organisation_id: OrganisationId) -> OrganisationStatus:
        """Return an organisation's status; what the directory does not know is `unknown`.

        Raises:
            Unavailable: it does not answer, or answers with what is no status.
        """
        ...


class ServiceTokenPort(Protocol):
    """This service's own name, towards the product."""

    def fetch_token(self) -> str:
        """Return a token that is good now.

        Raises:
            Unavailable: there is none to be had.
        """
        ...


class OffboardingPort(Protocol):
    """Organisations' clocks and rows, under the platform role."""

    def list_organisations(self) -> tuple[OrganisationId, ...]:
        """Return every organisation with a row left or a clock running, by id."""
        ...

    def find_clock(self, organisation_id: OrganisationId) -> OffboardingClock | None:
        """Return an organisation's clock, if it runs."""
        ...

    def start_clock(self, organisation_id: OrganisationId, *, at: datetime) -> OffboardingClock:
        """Note that an organisation was seen disabled, and return its clock; the first sighting stays."""
        ...

    def stop_clock(self, organisation_id: OrganisationId) -> bool:
        """Forget an organisation's clock; False if there was none."""
        ...

    def begin_purge(self, organisation_id: OrganisationId, *, at: datetime) -> None:
        """Mark the purge as begun: until it is completed, every run of the sweep takes it up again."""
        ...

    def delete_rows(self, organisation_id: OrganisationId, *, limit: int) -> Mapping[str, int]:
        """Remove one batch of an organisation's rows, dependants first; empty when none is left.

        In the same transaction their remains in other stores are noted for DisposalPort.

        Raises:
            Unavailable: somebody has just written what hangs on them; the next call begins with that.
        """
        ...

    def complete_purge(
        self, organisation_id: OrganisationId, removed: Mapping[str, int], *, at: datetime
    ) -> None:
        """Record, outside the tenant's data, that it is gone, and forget its clock."""
        ...

    def read_rows(self, organisation_id: OrganisationId) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield an organisation's rows with their table's name, as JSON has them, none of them redacted."""
        ...


class ExportPort(Protocol):
    """Who gets an organisation's export ahead of its purge."""

    def deliver(self, organisation_id: OrganisationId, lines: Iterable[str]) -> str:
        """Hand over an export, one JSON object a line, and return where it is.

        Raises:
            Unavailable: it was not taken; nothing may be purged.
        """
        ...
