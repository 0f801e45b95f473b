"""What can go wrong on a developer's machine, each with what to do about it."""


class LocalError(Exception):
    """A failure we foresaw. `str()` is one line for a person; `remedy` says what to do."""

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class BadInput(LocalError):
    """What the person gave cannot be meant: an argument or a variable of the environment."""

    exit_code = 2


class MissingTool(LocalError):
    """A program that has to be on the machine is not."""


class PortTaken(LocalError):
    """Another program listens where a part of the stack should."""


class PartFailed(LocalError):
    """A part of the stack did not start, or died."""


class NotRunning(LocalError):
    """The stack is not up."""
