"""What ``panel serve app`` runs for each browser tab."""

from app.dashboard import make_tab

make_tab().servable()
