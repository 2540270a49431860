"""Curves of a report as seaborn draws them, for notebooks; documents have figures of their own."""

from typing import TYPE_CHECKING

from gpureport.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import seaborn as sns

_MOST_BESIDE = 3


def curves(points: "pd.DataFrame", workload: str, sweep: str) -> "sns.FacetGrid":
    """Draw the curves of a family or of one variant: predicted with its 95 % band, observed with its intervals.

    Args:
        points: as :attr:`gpureport.notebook.frames.ReportFrames.points`.
        workload: ``family`` or ``family/variant``.
        sweep: which of their sweeps.

    Returns:
        seaborn's grid, a panel a variant; both axes are logarithmic.

    Raises:
        InputError: there is no such curve; the sentence names those that there are.
    """
    import seaborn as sns

    family, _, variant = workload.partition("/")
    asked = points[(points["family"] == family) & (points["variant"].eq(variant) if variant else True)]
    chosen = asked[asked["sweep"] == sweep]
    if chosen.empty:
        there = sorted(set(asked["sweep"])) or sorted(set(points["family"]))
        raise InputError(f"{workload}: no sweep {sweep!r} of it is in this report; there are {', '.join(there)}")
    panels = chosen["variant"].nunique()
    grid = sns.FacetGrid(
        chosen, col="variant", col_wrap=min(_MOST_BESIDE, panels), height=2.6, aspect=1.3, sharex=False, sharey=False
    )
    grid.map_dataframe(_curve)
    grid.set(xscale="log", yscale="log")
    units = chosen.groupby("variant")["unit"].first()
    for name, axes in grid.axes_dict.items():
        axes.set(title=f"{name} ({units[name]})", xlabel=sweep.replace("_", " "), ylabel="")
    return grid.add_legend()


def _curve(data: "pd.DataFrame", **_: object) -> None:
    import matplotlib.pyplot as plt
    import seaborn as sns

    axes, (blue, orange) = plt.gca(), (sns.color_palette("colorblind")[index] for index in (0, 3))
    data = data.sort_values("x")
    axes.fill_between(
        data["x"], data["specification_low"], data["specification_high"], color=blue, alpha=0.15, linewidth=0
    )
    sns.lineplot(data, x="x", y="specification", color=blue, label="predicted", legend=False, ax=axes)
    seen = data.dropna(subset=["observed"])
    away = [seen["observed"] - seen["ci_low"], seen["ci_high"] - seen["observed"]]
    axes.errorbar(seen["x"], seen["observed"], yerr=away, fmt="o", markersize=3, color=orange, label="observed")
