"""What the product needs from outside: one Protocol a need, with the promises a signature cannot state.

Every method may raise `Unavailable` when its store does not answer; where that leaves doubt about a
write, the docstring says what is safe to repeat.
"""
