"""Live R: a test marked `r` runs where R starts; elsewhere it is skipped with the reason, or fails if R is required."""

from __future__ import annotations

import os

import pytest

from qreg_boost.base.checks import MissingDependencyError
from qreg_boost.r import session

# Not in Debian: required nowhere.
OPTIONAL = ("mboost",)


def why_not(package: str | None = None) -> str | None:
    """Return why R, or an R package, cannot be used; None if it can."""
    try:
        session.start()
        if package:
            session.require(package)
    except MissingDependencyError as error:
        return str(error)
    return None


@pytest.fixture(autouse=True)
def live_r(request: pytest.FixtureRequest) -> None:
    """Start R for a test marked `r`; ``pytest.mark.r(package)`` asks for an R package too."""
    marker = request.node.get_closest_marker("r")
    if marker is None:
        return
    reason = why_not(*marker.args)
    if reason is None:
        return
    if os.environ.get("QREG_BOOST_REQUIRE_R") == "1" and marker.args not in [(name,) for name in OPTIONAL]:
        pytest.fail(f"QREG_BOOST_REQUIRE_R=1, but: {reason}", pytrace=False)
    pytest.skip(reason)
