"""Curves of a report, drawn with seaborn for notebooks."""

from typing import TYPE_CHECKING

from gpureport.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import seaborn as sns

_MOST_COLUMNS = 3


def curves(points: "pd.DataFrame", workload: str, sweep: str) -> "sns.FacetGrid":
    """Draw the curves of a family or variant: predictions with 95 % band, observations with 95 % intervals.

    Args:
        points: as :attr:`gpureport.notebook.frames.ReportFrames.points`.
        workload: ``family`` or ``family/variant``.
        sweep: name of the sweep.

    Returns:
        seaborn's grid with a panel for each variant; both axes are logarithmic.

    Raises:
        InputError: there is no such curve; the message lists the available ones.
    """
    import seaborn as sns

    family, _, variant = workload.partition("/")
    of_workload = points[(points["family"] == family) & (points["variant"].eq(variant) if variant else True)]
    chosen = of_workload[of_workload["sweep"] == sweep]
    if chosen.empty:
        available = sorted(set(of_workload["sweep"])) or sorted(set(points["family"]))
        raise InputError(f"{workload}: this report has no sweep {sweep!r} of it; it has {', '.join(available)}")
    panels = chosen["variant"].nunique()
    grid = sns.FacetGrid(
        chosen, col="variant", col_wrap=min(_MOST_COLUMNS, panels), height=2.6, aspect=1.3, sharex=False, sharey=False
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
