"""Mutations without effect, which no test can detect; ``scripts/mutate.py`` skips them."""

EQUIVALENT = {
    (
        "findings/advice.py",
        'rate = point.value if search.metric.kind == "rate" else 1 / point.value',
        "1 -> 2",
    ): "A factor of all rates of a search cancels in their shares of the best.",
    (
        "findings/advice.py",
        "for size, _ in enumerate(searches, start=1):",
        "1 -> 2",
    ): "If one shape serves all searches, no other is tried: it is then the only set of up to two.",
    (
        "compare/differences.py",
        "return tuple(d for d in found if d.significant and log(d.speed.value) < log(max(1 - percent / 100, 1e-9)))",
        "1e-09 -> 2e-09",
    ): "It only keeps the logarithm finite: no machine is half a billion times slower than another.",
    (
        "findings/evidence.py",
        "job = workload.job(point.parameters, np.random.default_rng(0))",
        "0 -> 1",
    ): "Only the names of a job's kernels are used, which do not depend on its random data.",
    (
        "findings/evidence.py",
        (
            "agreements = {None} if loaded is None or stored is None else "
            "{_agrees(loaded, loads), _agrees(stored, stores)}"
        ),
        "loaded is None or stored is None -> loaded is None and stored is None",
    ): "The line before leaves either both or neither.",
    (
        "measure/rounds.py",
        "while remaining and self._elapsed() < until:",
        "self._elapsed() < until -> self._elapsed() <= until",
    ): "A clock that shows exactly the limit may count as within the budget or beyond it.",
    (
        "measure/rounds.py",
        "more = [points[index] for index in bends if self._with_set_up_s(points[index]) < left_s]",
        "self._with_set_up_s(points[index]) < left_s -> self._with_set_up_s(points[index]) <= left_s",
    ): "Exactly the expected time may count as enough or as too little.",
    (
        "measure/rounds.py",
        "while now and abs(now - before) > _SETTLED * now and self._backend.now() < until:",
        "abs(now - before) > _SETTLED * now -> abs(now - before) >= _SETTLED * now",
    ): "A change by exactly the limit may count as settled or not.",
    (
        "measure/rounds.py",
        "return self._elapsed() > allowed * self._allowed_s",
        "self._elapsed() > allowed * self._allowed_s -> self._elapsed() >= allowed * self._allowed_s",
    ): "A clock that shows exactly the limit may count as within the budget or beyond it.",
    (
        "measure/rounds.py",
        "while now and abs(now - before) > _SETTLED * now and self._backend.now() < until:",
        "self._backend.now() < until -> self._backend.now() <= until",
    ): "A clock that shows exactly the limit may count as within the time or beyond it.",
    (
        "measure/rounds.py",
        "before, now = 0.0, self._try(point)",
        "0.0 -> 1.0",
    ): "Only a time near 1 s would count as settled at once, and the loop ends after half a second in any case.",
    (
        "measure/rounds.py",
        "kept = min(frames, max(FEWEST_ROUNDS, int((1 - _RESTING) * share_s / max(seconds, 1e-9))))",
        "1e-09 -> 2e-09",
    ): "It only keeps the quotient finite: no dispatch is that short.",
    (
        "observe/smooth_maximum.py",
        "start = np.array([times[0], times[0] - times[-1] + u[-1], np.log(p), -2.0])",
        "-1 -> 1",
    ): "The fit starts elsewhere and ends in the same place.",
    (
        "observe/smooth_maximum.py",
        'TOLERANCES = {"ftol": 1e-8, "xtol": 1e-8, "gtol": 1e-8}',
        "1e-08 -> 2e-08",
    ): "The fit ends in the same place, to far more digits than the noise leaves.",
    (
        "observe/crossings.py",
        "reached = fit[:, -1] <= target",
        "1 -> 2",
    ): "A row that reaches its target only at the last point has its first crossing there either way.",
    (
        "observe/crossings.py",
        "j = np.clip(np.argmax(fit <= target[:, None], axis=1), 1, len(u) - 1)",
        "len(u) - 1 -> len(u) + 1",
    ): "The position of a largest element is never beyond the last.",
    (
        "observe/cuts.py",
        "stop = int(ends[k - 1][start - 1]) if k else 0",
        "0 -> 1",
    ): "The loop ends there: the value is not used.",
    (
        "observe/features.py",
        "if rate.low is None or rate.high is None:",
        "rate.low is None or rate.high is None -> rate.low is None and rate.high is None",
    ): "An interval has both ends or none.",
    (
        "observe/staircase.py",
        "near = np.abs(z - median) <= 2.0 * noise + 1e-12",
        "1e-12 -> 2e-12",
    ): "It allows for rounding errors, which are smaller than either.",
    (
        "observe/staircase.py",
        "first = int(np.searchsorted(u, u[plateau.stop - 1] - reach - 1e-9))",
        "1e-09 -> 2e-09",
    ): "It allows for rounding errors, which are smaller than either.",
    (
        "observe/statistics.py",
        "whole = np.abs(ticks - np.round(ticks)) < 0.1",
        "np.abs(ticks - np.round(ticks)) < 0.1 -> np.abs(ticks - np.round(ticks)) <= 0.1",
    ): "Differences of numbers above 1 are multiples of 2^-52, which the constant 0.1 is not.",
    (
        "predict/residency.py",
        "NO_TRANSITION = Transition(onset=1, midpoint=1, end=1)",
        "1 -> 2",
    ): "The last level, memory, has no transition: its range is not used.",
}
"""File, line of code, expression before and after; and why the mutation changes nothing."""
