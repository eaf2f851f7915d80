"""Attributes that are computed when they are first read."""

from bregopt.lazy import lazy


class Counted:
    """One lazy attribute, and how often it was computed."""

    def __init__(self):
        self.calls = 0

    @lazy
    def answer(self):
        """What is asked for."""
        self.calls += 1
        return 42


def test_it_is_computed_once_for_each_object():
    one, other = Counted(), Counted()
    assert (one.answer, one.answer, one.calls, other.calls) == (42, 42, 1, 0)


def test_the_class_shows_the_attribute_with_its_text():
    assert isinstance(Counted.answer, lazy)
    assert Counted.answer.__doc__ == "What is asked for."
