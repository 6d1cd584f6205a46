"""Attributes that are worked out once."""

from specmeter.lazy import lazy


class Circle:
    """Counts how often its area is worked out."""

    def __init__(self, radius: float) -> None:
        self.radius = radius
        self.times = 0

    @lazy
    def area(self) -> float:
        """Roughly."""
        self.times += 1
        return 3 * self.radius**2


def test_it_is_worked_out_when_it_is_first_asked_for_and_then_kept() -> None:
    """Each object has its own."""
    small, large = Circle(1), Circle(2)
    assert small.times == 0
    assert [small.area, large.area, small.area] == [3, 12, 3]
    assert (small.times, large.times) == (1, 1)


def test_the_class_tells_what_it_is() -> None:
    """For those who read documentation."""
    assert Circle.area.__doc__ == "Roughly."
