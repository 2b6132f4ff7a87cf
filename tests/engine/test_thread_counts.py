"""A machine that answers with the time a step would take, and a clock that it moves on."""

from collections.abc import Callable

from engine.thread_counts import ThreadCounts, ladder, threads_for

Took = Callable[[int, int], float]       # threads, tokens: seconds


class Machine:
    def __init__(self, num_threads: int, took: Took) -> None:
        self.now_s = 0.0
        self.took = took
        self.counts = ThreadCounts(num_threads, clock_s=lambda: self.now_s)

    def steps(self, num_steps: int, num_tokens: int) -> list[int]:
        return [self.step(num_tokens) for _ in range(num_steps)]

    def step(self, num_tokens: int) -> int:
        threads = self.counts.choose(num_tokens)
        took_s = self.took(threads, num_tokens)
        self.now_s += took_s
        self.counts.learn(num_tokens, took_s)
        return threads


def best_at(best: int) -> Took:
    """A tenth of a second with so many threads, longer with fewer and with more."""
    return lambda threads, _tokens: 0.1 * (1 + abs(threads - best) / best)


def test_two_threads_are_two_threads() -> None:
    assert set(Machine(2, best_at(1)).steps(1000, 1)) == {2}
    assert set(Machine(1, best_at(1)).steps(10, 1)) == {1}


def test_of_more_than_four_cores_one_is_left_to_the_event_loop() -> None:
    assert [threads_for(cores) for cores in (1, 2, 4, 5, 16)] == [1, 2, 4, 4, 15]


def test_the_ladder_goes_down_by_quarters() -> None:
    assert ladder(15) == (15, 11, 8, 6, 4, 3, 2)
    assert ladder(4) == (4, 3, 2)
    assert ladder(3) == (3, 2)
    assert ladder(2) == (2,)


def test_fewer_threads_are_found_where_they_are_faster() -> None:
    machine = Machine(15, best_at(6))
    machine.steps(60, 1)
    assert set(machine.steps(50, 1)) == {6}


def test_where_all_threads_are_fastest_few_steps_are_lost_to_finding_out() -> None:
    machine = Machine(15, lambda threads, _tokens: 1.5 / threads)
    assert sum(threads != 15 for threads in machine.steps(100, 512)) == 2


def test_steps_of_few_tokens_and_of_many_have_counts_of_their_own() -> None:
    machine = Machine(15, lambda threads, tokens: best_at(15 if tokens >= 64 else 4)(threads, tokens))
    machine.steps(80, 1)
    machine.steps(80, 500)
    assert (machine.step(1), machine.step(500), machine.step(1)) == (4, 15, 4)


def test_a_class_is_tried_as_soon_as_it_is_entered() -> None:
    machine = Machine(15, lambda threads, tokens: best_at(15 if tokens == 1 else 8)(threads, tokens))
    machine.steps(40, 1)
    machine.steps(40, 8)
    assert set(machine.steps(10, 8)) == {8}


def test_what_gains_little_is_left_as_it_is() -> None:
    machine = Machine(8, lambda threads, _tokens: 0.100 if threads == 8 else 0.098)
    machine.steps(50, 1)
    assert machine.step(1) == 8


def test_single_steps_that_took_long_decide_nothing() -> None:
    machine = Machine(8, best_at(8))
    took = {7: 5.0}                                     # of its own count, in the midst of a trial
    plain = machine.took
    numbers = iter(range(1000))
    machine.took = lambda threads, tokens: took.get(next(numbers), plain(threads, tokens))
    machine.steps(60, 1)
    assert machine.step(1) == 8


def test_when_the_machine_has_changed_the_count_follows() -> None:
    machine = Machine(15, best_at(4))
    machine.steps(80, 1)
    assert machine.step(1) == 4
    machine.took = best_at(11)
    machine.now_s += 31.0
    machine.steps(80, 1)
    assert machine.step(1) == 11


def test_where_nothing_changes_trials_become_rare() -> None:
    machine = Machine(15, best_at(15))
    trials = [sum(threads != 15 for threads in machine.steps(6000, 1)) for _ in range(3)]      # ten minutes each
    assert trials[0] > trials[2]
    assert trials[2] <= 4


def test_steps_of_changing_size_are_not_compared() -> None:
    machine = Machine(15, best_at(4))
    for _ in range(50):
        assert machine.step(8) == 15
        assert machine.step(12) == 15
