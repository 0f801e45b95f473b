"""Addresses of services that a configuration names."""

import ipaddress
from urllib.parse import urlsplit


def parse_service_address(text: str, *, setting: str) -> str:
    """Read the address of a service whose answers are believed.

    Raises:
        ValueError: it is blank or no address, or is http beyond this machine, where others could answer.
    """
    parts = urlsplit(text.strip())
    if not parts.hostname or parts.scheme not in ("http", "https"):
        raise ValueError(f"{setting} must be an https address, got {text!r}")
    if parts.scheme == "http" and not _is_loopback(parts.hostname):
        raise ValueError(f"{setting} must be https beyond this machine, got {text!r}")
    return parts.geturl()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
