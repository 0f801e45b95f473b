"""The Gemini API, generateContent in its v1beta, over HTTP."""
