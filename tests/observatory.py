"""A few documents about an invented observatory, for the tests that ask the deployed stack."""

from pathlib import Path

DOCUMENTS = {
    "visiting.md": """# Visiting the Larkhill observatory

## Opening hours

The Larkhill observatory opens its dome to visitors every Thursday evening from eight until eleven.
Groups of more than twelve people book the dome two weeks ahead with the night warden.

## The dome

The dome of the observatory turns on forty bronze wheels that were cast in the harbour in 1929.
Visitors to the observatory climb ninety steps to the gallery of the dome, where the warden counts them twice.
The dome of the observatory stays shut in rain, in fog and in winds above fifty kilometres an hour.
On clear nights the visitors in the dome of the observatory see Saturn, the Moon and the Orion nebula.

## Getting there

The last bus to Larkhill leaves the harbour at half past seven. The road is closed to cars when it snows.
""",
    "telescope.html": """<html><head><title>The Aldous telescope</title></head><body>
<h1>The Aldous telescope</h1>
<h2>Mirror</h2>
<p>The Aldous telescope carries a mirror of ninety centimetres, ground from borosilicate glass in 1931.</p>
<h2>Cooling</h2>
<p>The mirror has to cool for forty minutes before the Aldous telescope gives a steady image.</p>
</body></html>
""",
    "safety.txt": """Laser pointers are forbidden inside the dome.
The night warden keeps the only key to the shutter motor.
""",
}

LONG_QUESTION = "What do visitors to the dome of the observatory see, climb and count?"
"""Answered with several sentences, so that there is time to interrupt."""


def write_documents(folder: Path) -> None:
    """Write them into a folder."""
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text)
