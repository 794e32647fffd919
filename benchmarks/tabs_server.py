"""A server for `tab_costs`, which tells what its tabs cost.

``python -m benchmarks.tabs_server [SECONDS]`` prints its address; SECONDS is how long a page is
kept that nobody looks at, if not as long as `serve` keeps it.

``/tabs`` answers with the dashboards that live, the memory and the processor time of the process,
and how often all objects were looked through for garbage.
"""

from __future__ import annotations

import gc
import sys
import time

import psutil
from tornado.web import RequestHandler

from genoviz_app.dashboard import Dashboard
from genoviz_app.server.event_loop import collect_seldom, collections_put_off
from genoviz_app.server.lab import Lab
from genoviz_app.server.quick_models import keep_what_is_loaded
from genoviz_app.server.serving import UNUSED_SESSION_MILLISECONDS, make_server, offer_files
from genoviz_app.server.watching import Health


class TabsHandler(RequestHandler):
    """Counts what lives, and frees nothing."""

    def get(self) -> None:
        """Write the number of dashboards, bytes, seconds of processor time, and collections."""
        self.write(
            {
                "dashboards": sum(type(each) is Dashboard for each in gc.get_objects()),
                "memory": psutil.Process().memory_info().rss,
                "seconds": time.process_time(),
                "collections": gc.get_stats()[2]["collections"],
            }
        )


def main() -> None:
    """Serve until terminated."""
    seconds = sys.argv[1:]
    unused = int(1000 * float(seconds[0])) if seconds else UNUSED_SESSION_MILLISECONDS
    lab = Lab(port=0)
    offer_files(lab)
    with collections_put_off():
        server = make_server(lab, Health(), show=False, unused_milliseconds=unused)
    keep_what_is_loaded()
    server._tornado.add_handlers(r".*", [("/tabs", TabsHandler)])
    print(f"serving at http://127.0.0.1:{server.port}", flush=True)
    server.start()
    collect_seldom()
    server.io_loop.start()


if __name__ == "__main__":
    main()
