"""Distributed computation: Dask workers call a function for many blocks.

A scheduler is given by its address (``"tcp://head:8786"``) or as a connected ``distributed``
client. Its workers must run exactly the same genoviz code as this process.
`genoviz.cluster.blocks.iter_results` yields the result of each block, and
`genoviz.cluster.sums.iter_sum` their sum. Dask is imported only if a scheduler is given.

Arguments of a block reach the workers in one of three ways. Small values are sent with the task. A
memory-mapped array is sent as its location, if a worker sees the same file. Any other array is sent
separately, to the worker that needs it. Few blocks are in flight at once, which bounds the memory
of the scheduler and the workers.

If a worker dies, Dask repeats its tasks, and blocks whose arrays were lost are sent again.
"""
