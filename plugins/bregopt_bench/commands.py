"""``bregopt bench``: the list of its sub-commands."""

import click

from bregopt_bench.benchopt.command import export
from bregopt_bench.choice.command import choice
from bregopt_bench.instead.command import instead
from bregopt_bench.race.command import race
from bregopt_bench.speed.loop import loop
from bregopt_bench.speed.models import models
from bregopt_bench.speed.pass_command import pass_
from bregopt_bench.speed.recommender import recommender
from bregopt_bench.speed.scale import scale


@click.group(invoke_without_command=True)
@click.pass_context
def bench(context: click.Context) -> None:
    """Measure speed and memory on this machine.

    \b
    Examples:
      bregopt bench instead                          against scikit-learn, scipy and loops in NumPy
      bregopt bench pass                             the pass of an iteration, for several sizes
      bregopt bench scale                            the same pass as the matrix grows
      bregopt bench loop                             iterations against a loop written by hand
      bregopt bench models                           the same on models other than UV
      bregopt bench recommender                      many users, many items, few known ratings
      bregopt bench race                             methods against each other
      bregopt bench choice                           what 'auto' picks, against the best
      bregopt bench export my-race                   the race as a folder for the tool benchopt
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


bench.add_command(instead)
bench.add_command(pass_)
bench.add_command(scale)
bench.add_command(loop)
bench.add_command(models)
bench.add_command(recommender)
bench.add_command(race)
bench.add_command(choice)
bench.add_command(export)
