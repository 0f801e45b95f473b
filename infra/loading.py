"""From `cdk -c stage=…` to a checked StageConfig."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

from infra import config
from infra.loading_alarms import load_alarms
from infra.loading_completions import load_completions
from infra.loading_life import load_identity, load_retention
from infra.loading_models import load_model
from infra.loading_turns import check_wall_time, load_turn_limits
from infra.log_groups import RETENTION
from infra.reading import ConfigurationRefused, Reader

PROJECT = Path(__file__).parents[1]
STAGES = Path(__file__).parent / "stages"
_HTTPS = r"https://[^\s]+"
_ANY_HTTP = r"https?://[^\s]+"


def load(context: Callable[[str], object]) -> config.StageConfig:
    """Read the stage that the CDK context names.

    `-c stage=NAME` reads infra/stages/NAME.toml (default: local), `-c config=PATH` reads another file, and
    `-c overrides=PATH` lays a second file over it, table by table.

    Raises:
        ConfigurationRefused: a file is absent or anything in it is wrong; all problems are listed.
    """
    path = _path(context)
    table = _read(path)
    overrides = context("overrides")
    if overrides:
        table = _laid_over(table, _read(Path(str(overrides))))
    return parse(table, source=str(path))


def parse(table: Mapping[str, Any], *, source: str) -> config.StageConfig:
    """Check a whole configuration; raises ConfigurationRefused with every problem."""
    root = Reader(table)
    local = _local(root.table("local")) if root.has("local") else None
    production = root.flag("production", default=local is None)
    found = config.StageConfig(
        stage=root.text(
            "stage",
            pattern=r"[a-z][a-z0-9-]{0,19}",
            meaning="a lower-case name of at most 20 letters, digits, -",
        ),
        region=root.text(
            "region", pattern=r"[a-z]{2}(-[a-z]+)+-\d", meaning="an AWS region such as eu-central-1"
        ),
        account=root.text("account", pattern=r"\d{12}", meaning="twelve digits", default=None),
        production=production,
        retrieval_backend=_retrieval_backend(root),
        allowed_origins=root.texts(
            "allowed_origins", pattern=r"https?://[^/\s*]+", meaning="origins such as https://app.example.com"
        ),
        intent_tier=root.text(
            "intent_tier",
            pattern=r"words|off|[A-Za-z_][\w.]*:[A-Za-z_]\w*",
            meaning="words, off, or package.module:callable",
            default="words",
        ),
        runtime=_runtime(root.table("runtime")),
        database=_database(root, local=local),
        auth=_auth(root.table("auth"), local=local),
        billing=_billing(root.table("billing")),
        directory=_directory(root.table("directory"), local=local),
        model=load_model(root.table("model"), local=local),
        structured_completion=load_completions(root.table("structured_completion")),
        limits=_limits(root.table("limits"), production=production),
        retention=load_retention(root.table("retention")),
        identity=load_identity(root.table("identity"), local=local is not None),
        turns=load_turn_limits(root.table("turns")),
        alarms=load_alarms(root, local=local is not None),
        site=_site(root.table("site")) if root.has("site") else None,
        local=local,
    )
    check_wall_time(root, found)
    root.refuse_unknown()
    if root.problems:
        raise ConfigurationRefused(source, root.problems)
    return found


def _path(context: Callable[[str], object]) -> Path:
    given = context("config")
    if given:
        return Path(str(given))
    stage = str(context("stage") or "local")
    path = STAGES / f"{stage}.toml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in STAGES.glob("*.toml")))
        raise ConfigurationRefused(
            f"-c stage={stage}", [f"no {path.relative_to(PROJECT)}; stages: {known}; or give -c config=PATH"]
        )
    return path


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationRefused(str(path), [f"cannot be read: {error.strerror}"]) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationRefused(str(path), [f"is not TOML: {error}"]) from error


def _laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, entry in above.items():
        old = merged.get(name)
        both = isinstance(old, Mapping) and isinstance(entry, Mapping)
        merged[name] = _laid_over(cast("Mapping[str, Any]", old), entry) if both else entry
    return merged


def _retrieval_backend(root: Reader) -> Any:
    backend = root.choice("retrieval_backend", ("postgres", "opensearch"), default="postgres")
    if backend == "opensearch":
        root.refuse("retrieval_backend", "'opensearch' is not built yet; use 'postgres'")
    return backend


def _runtime(table: Reader) -> config.RuntimeConfig:
    return config.RuntimeConfig(
        python=table.choice("python", ("3.11", "3.12", "3.13", "3.14"), default="3.13"),
        architecture=cast(
            "config.Architecture", table.choice("architecture", ("arm64", "x86_64"), default="arm64")
        ),
        allow_uncompiled_layers=table.flag("allow_uncompiled_layers", default=False),
    )


def _local(table: Reader) -> config.LocalConfig:
    return config.LocalConfig(
        endpoint_url=table.text(
            "endpoint_url",
            pattern=r"https?://[^/\s]+",
            meaning="the emulator's address",
            default="http://127.0.0.1:4566",
        ),
        data_path=table.text(
            "data_path", default=str(PROJECT), meaning="the folder that holds profiles/ and migrations/"
        ),
    )


def _database(
    root: Reader, *, local: config.LocalConfig | None
) -> config.AuroraDatabase | config.DatabaseAddress:
    table = root.table("database")
    if local:
        if root.has("network"):
            root.refuse("network", "the local stage has none; leave it out")
        return config.DatabaseAddress(
            host=table.text("host", default="127.0.0.1"),
            port=table.integer("port", low=1, high=65535, default=54329),
            name=table.text(
                "name", pattern=r"[a-z][a-z0-9_]*", meaning="a database name", default="equerry_assistant"
            ),
            owner_username=table.text("owner_username", default="equerry_owner"),
            owner_password=table.text("owner_password", meaning="the owner's password"),
        )
    low = table.half_steps("min_capacity", low=0, high=256, default=0)
    high = table.half_steps("max_capacity", low=1, high=256, default=8)
    if low > high:
        table.refuse("min_capacity", f"must not exceed max_capacity ({high:g}), got {low:g}")
    return config.AuroraDatabase(
        min_capacity=low,
        auto_pause_minutes=table.integer("auto_pause_minutes", low=5, high=1440, default=60),
        max_capacity=high,
        backup_retention_days=table.integer("backup_retention_days", low=1, high=35, default=14),
        network=_network(root.table("network")),
    )


def _network(table: Reader) -> config.NewNetwork | config.ExistingNetwork:
    if not table.has("vpc_id"):
        return config.NewNetwork(
            cidr=table.text(
                "cidr",
                pattern=r"\d+(\.\d+){3}/(1[6-9]|2[0-4])",
                meaning="a range such as 10.40.0.0/20",
                default="10.40.0.0/20",
            )
        )
    zones = table.texts(
        "availability_zones", pattern=r"[a-z0-9-]+[a-z]", meaning="zones such as eu-central-1a", least=2
    )
    subnets = table.texts(
        "private_subnet_ids", pattern=r"subnet-[0-9a-f]+", meaning="private subnets with a way out", least=2
    )
    if len(zones) != len(subnets):
        table.refuse(
            "private_subnet_ids", f"must name one subnet a zone, got {len(subnets)} for {len(zones)} zones"
        )
    return config.ExistingNetwork(
        vpc_id=table.text("vpc_id", pattern=r"vpc-[0-9a-f]+", meaning="a VPC id"),
        availability_zones=zones,
        private_subnet_ids=subnets,
    )


def _auth(table: Reader, *, local: config.LocalConfig | None) -> config.AuthConfig:
    url = _ANY_HTTP if local else _HTTPS
    return config.AuthConfig(
        jwks_url=table.text("jwks_url", pattern=url, meaning="the https address of the issuer's JWKS"),
        issuer=table.text("issuer", meaning="the tokens' iss claim"),
        audience=table.text("audience", default="equerry", meaning="the tokens' aud claim"),
        organisations=cast(
            'Literal["all", "listed"]', table.choice("organisations", ("all", "listed"), default="all")
        ),
    )


def _directory(table: Reader, *, local: config.LocalConfig | None) -> config.DirectoryConfig:
    found = config.DirectoryConfig(
        url=table.text(
            "url",
            pattern=_ANY_HTTP if local else _HTTPS,
            meaning="the https address of the product's directory of projects",
            default=None,
        ),
        secret_arn=table.text(
            "secret_arn",
            pattern=r"arn:aws[a-z-]*:secretsmanager:.+",
            meaning="the ARN of a secret in Secrets Manager",
            default=None,
        ),
    )
    if found.secret_arn and not found.url:
        table.refuse("url", "is missing; the secret is for nothing else")
    return found


def _billing(table: Reader) -> config.BillingConfig | None:
    enforced = table.flag("enforce", default=False)
    name = table.text(
        "entitlements_table",
        pattern=r"[\w.-]{3,255}",
        meaning="the name of a table in this region",
        default=None,
    )
    if enforced and name is None:
        table.refuse("entitlements_table", "is missing; enforcement reads it on every write")
    return config.BillingConfig(entitlements_table=name or "") if enforced else None


def _limits(table: Reader, *, production: bool) -> config.LimitsConfig:
    reserved = table.flag("reserve_concurrency", default=True)
    if production and not reserved:
        table.refuse("reserve_concurrency", "may be false only with production = false: purges could overlap")
    return config.LimitsConfig(
        worker_timeout_s=table.integer("worker_timeout_s", low=30, high=840, default=300),
        worker_max_concurrency=table.integer("worker_max_concurrency", low=2, high=1000, default=20),
        indexer_max_concurrency=table.integer("indexer_max_concurrency", low=2, high=1000, default=4),
        http_reserved_concurrency=table.optional_integer("http_reserved_concurrency", low=1, high=1000),
        reserve_concurrency=reserved,
        requests_per_second=table.integer("requests_per_second", low=1, high=10000, default=100),
        request_burst=table.integer("request_burst", low=1, high=5000, default=200),
        log_retention_days=_log_retention(table, production=production),
    )


def _log_retention(table: Reader, *, production: bool) -> int:
    if not table.has("log_retention_days"):
        return 30 if production else 14
    days = table.integer("log_retention_days", low=1, high=731, default=14)
    if days not in RETENTION:
        table.refuse("log_retention_days", f"must be one of {', '.join(map(str, RETENTION))}, got {days}")
    return days


def _site(table: Reader) -> config.SiteConfig:
    return config.SiteConfig(
        token_url=table.text("token_url", pattern=_HTTPS, meaning="the https address that signs a user in"),
        page=table.text("page", default=str(PROJECT / "client" / "dist")),
    )
