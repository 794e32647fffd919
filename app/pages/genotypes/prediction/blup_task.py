"""The run of a solver, which can be held for a while."""

from __future__ import annotations

from genoviz_app.pages.genotypes.task import Task


class BlupTask(Task):
    """A task that can be paused; its snapshots stay."""

    @property
    def is_paused(self) -> bool:
        """Whether the run is held."""
        return self._job is not None and self._job.state == "paused"

    def pause(self) -> None:
        """Hold the run, or go on with it."""
        if self._job is None:
            return
        if self.is_paused:
            self._job.resume()
        else:
            self._job.pause()
        self.param.trigger("opening")
