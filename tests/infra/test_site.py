"""The page, and a network that is there already: what a stage may add or replace."""

from pathlib import Path

import pytest

from infra.reading import ConfigurationRefused
from tests.infra.stages import SynthesisedStage, synthesise

OVERRIDES = """
[network]
vpc_id = "vpc-0123456789abcdef0"
availability_zones = ["eu-central-1a", "eu-central-1b"]
private_subnet_ids = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
[site]
token_url = "https://app.example.com/token"
page = "{page}"
"""


@pytest.fixture(scope="module")
def with_site(tmp_path_factory: pytest.TempPathFactory) -> SynthesisedStage:
    """A production stage with a page, in a VPC that is there already."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "index.html").write_text("<!doctype html>")
    return synthesise("production", overrides=str(_write(folder / "overrides.toml", page=folder)))


def _write(path: Path, *, page: Path) -> Path:
    path.write_text(OVERRIDES.format(page=page))
    return path


def test_the_page_and_the_api_share_one_address(with_site: SynthesisedStage) -> None:
    (distribution,) = with_site.of_type("AWS::CloudFront::Distribution").values()
    config = distribution["DistributionConfig"]

    assert [behaviour["PathPattern"] for behaviour in config["CacheBehaviors"]] == ["/api/assistant/*"]
    assert config["DefaultCacheBehavior"]["ViewerProtocolPolicy"] == "redirect-to-https"


def test_the_page_may_reach_its_socket_and_the_sign_in_and_nothing_else(with_site: SynthesisedStage) -> None:
    (policy,) = with_site.of_type("AWS::CloudFront::ResponseHeadersPolicy").values()
    headers = str(policy["ResponseHeadersPolicyConfig"]["SecurityHeadersConfig"]["ContentSecurityPolicy"])

    assert "default-src 'self'; connect-src 'self' wss://" in headers
    assert "https://app.example.com/token; frame-ancestors 'none'" in headers


def test_every_log_group_of_the_page_expires_too(with_site: SynthesisedStage) -> None:
    assert {group["RetentionInDays"] for group in with_site.of_type("AWS::Logs::LogGroup").values()} == {30}


def test_an_existing_network_is_used_and_none_is_made(with_site: SynthesisedStage) -> None:
    worker = with_site.functions()["worker.handler.handle"]

    assert not with_site.of_type("AWS::EC2::VPC")
    assert worker["VpcConfig"]["SubnetIds"] == ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]


def test_a_page_that_is_not_built_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationRefused, match=r"holds no index\.html"):
        synthesise("production", overrides=str(_write(tmp_path / "overrides.toml", page=tmp_path)))
