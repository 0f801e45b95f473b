"""Hits and wrong answers of the fast path's scorers on the labelled questions, by threshold.

    python -m bench.fast_path

No store is asked: every section of the labelled help is a candidate. A wrong answer is one to a question that
the label leaves to the model, or another page or section than the label's.
"""

from equerry.domain.fast_path import TAU_HOWTO, TAU_NAV

from tests.labelled.fast_path import LabelledSet, classify, describe, read_labelled_set

THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def count_answers(
    labelled: LabelledSet, questions: dict[str, str], *, go: float, help_: float
) -> tuple[int, int]:
    """Return how many questions were answered as they should, and how many otherwise than left alone."""
    said = {question: describe(classify(labelled, question, go=go, help_=help_)) for question in questions}
    answered = {question: got for question, got in said.items() if got != "model"}
    right = sum(got == questions[question] for question, got in answered.items())
    return right, len(answered) - right


def show_table(labelled: LabelledSet, name: str, thresholds: dict[float, tuple[float, float]]) -> None:
    """Print one line for each threshold; its value is the pair of both that it stands for."""
    groups = {"first": labelled.first, "second": labelled.second, "held": labelled.held}
    print(f"{name:>12}  " + "  ".join(f"{group:>26}" for group in groups))
    for least, (go, help_) in thresholds.items():
        cells = []
        for questions in groups.values():
            wanted = sum(want != "model" for want in questions.values())
            right, wrong = count_answers(labelled, questions, go=go, help_=help_)
            cells.append(f"{right} of {wanted} hit, {wrong} wrong of {len(questions)}".rjust(26))
        print(f"{least:12}  " + "  ".join(cells))


def main() -> None:
    """Move each threshold while the other stays where it ships."""
    labelled = read_labelled_set()
    show_table(labelled, "navigate_at", {least: (least, TAU_HOWTO) for least in THRESHOLDS})
    show_table(labelled, "how_to_at", {least: (TAU_NAV, least) for least in THRESHOLDS})


if __name__ == "__main__":
    main()
