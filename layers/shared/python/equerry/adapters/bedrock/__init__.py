"""The Converse API of Amazon Bedrock, streamed, through botocore."""
