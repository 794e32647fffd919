"""More than one machine: a function that Dask's workers call for many blocks.

A scheduler is the address of one of Dask (``"tcp://head:8786"``), or a client of ``distributed``
that is connected. Its workers have the same genoviz as this process, to the letter.
`genoviz.cluster.blocks.iter_results` has what each block gave, `genoviz.cluster.sums.iter_sum`
their sum. Nothing here is imported where no scheduler is named.

What a block is given goes to the workers in one of three ways: small things with the task; an
array that is mapped from a file, as the place in that file, where a worker sees the same file; any
other array by itself, to the worker that needs it. Few blocks are on their way at once, so that
neither the scheduler nor the workers hold much.

A worker that dies is replaced by others: Dask repeats its tasks, and blocks whose arrays were lost
with it are sent again.
"""
