"""What ``panel serve app`` runs for each browser tab."""

from genoviz_app.dashboard import make_tab

make_tab().servable()
