"""The vendors' own clients, each opened once for an address, to be measured beside ours."""

from functools import cache
from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types

from tests.contract.models.subjects import PATIENT, create_bedrock_client


@cache
def open_anthropic(url: str, key: str) -> anthropic.Anthropic:
    """Return Anthropic's client, which tries nothing twice."""
    return anthropic.Anthropic(api_key=key, base_url=url, max_retries=0)


@cache
def open_openai(url: str, key: str) -> openai.OpenAI:
    """Return OpenAI's client, which tries nothing twice."""
    return openai.OpenAI(api_key=key, base_url=url, max_retries=0)


@cache
def open_bedrock(url: str, key: str) -> Any:
    """Return botocore's client of Bedrock."""
    return create_bedrock_client(url, key, PATIENT)


@cache
def open_google(url: str, key: str) -> genai.Client:
    """Return Google's client of the interface that the adapter speaks."""
    options = types.HttpOptions(base_url=url, api_version="v1beta")
    return genai.Client(api_key=key, http_options=options)
