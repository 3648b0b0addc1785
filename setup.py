"""Find the sub-packages of the three mapped folders, so that a new one can never be missing from the wheel."""

from setuptools import find_packages, setup

FOLDERS = {"kingpost": "core", "kingpost.plugins": "plugins", "kingpost.fmu": "fmu"}

setup(
    package_dir=FOLDERS,
    packages=[
        name
        for package, folder in FOLDERS.items()
        for name in [package, *(f"{package}.{sub}" for sub in find_packages(folder))]
    ],
)
