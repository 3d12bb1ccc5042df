"""`bigfleet warm`: compile every kernel once and keep the result for all later processes."""

import click


@click.command()
def warm() -> None:
    """Compile every kernel of the engine, and keep the result on disk.

    A shard does the same when it starts, and is ready only afterwards; with a warm cache that takes
    less than a second. The cache is in the folder NUMBA_CACHE_DIR, else beside the installed code,
    else in the user's cache folder. Exit 1: none of them can be written. SIGTERM ends it between
    two kernels; those that are compiled are kept.

    \b
    Example, in an image or after an installation:
      NUMBA_CACHE_DIR=/var/cache/bigfleet bigfleet warm
    """
    from bigfleet import compiling
    from bigfleet.cli.progress import compile_all

    ended = compile_all(always=True)
    click.echo(f"{ended.total} kernels are compiled, after {ended.seconds:.1f} s")
    if why := compiling.why_not_kept():
        click.echo(why, err=True)
        raise click.exceptions.Exit(1)
    click.echo(f"kept in {compiling.CACHE_FOLDER}")
