"""Which packages a wheel has: the folder ``app`` is installed as ``genoviz_app``.

A package named ``app`` would hide, or be hidden by, whatever else of this name a user has. All
else that is to say of the project stands in ``pyproject.toml``, which cannot rename a folder.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["genoviz", "genoviz.*"]),
        "genoviz_app",
        *(f"genoviz_app.{name}" for name in find_packages("app")),
    ],
    package_dir={"genoviz_app": "app"},
)
