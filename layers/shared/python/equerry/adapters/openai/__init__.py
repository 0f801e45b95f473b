"""The Responses API of OpenAI and of those who speak its protocol, through its SDK."""
