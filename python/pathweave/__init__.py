"""Multipath TCP schedulers in a deterministic simulator: compare them, write your own, sweep parameters.

>>> import pathweave
>>> results = pathweave.compare("wifi-lte", schedulers=["minrtt", "blest"], seeds=2, duration="12s")
>>> results.verdict.split()[0] in ("minrtt", "blest", "Plain", "plain", "No")
True
"""

from pathweave import _native
from pathweave._errors import (
    ArgumentError,
    InputError,
    InternalError,
    Interrupted,
    OutputError,
    PathweaveError,
    PathweaveWarning,
    ScenarioError,
    SchedulerError,
)
from pathweave.comparison import algorithms, compare, run
from pathweave.competition import Arena, arena
from pathweave.explanation import Explanation, Validation, explain, reproduce, validate
from pathweave.results import Results
from pathweave.scenario import Element, Elements, Scenario, builtin_scenarios
from pathweave.schedulers import (
    Assign,
    Event,
    Parameter,
    Scheduler,
    SubflowView,
    View,
    Wait,
    register,
    registered,
    scheduler,
    unregister,
)
from pathweave.sweeps import Sweep, WorkerLostError, sweep
from pathweave.tables import Table

__version__ = _native.version

__all__ = [
    "Arena",
    "ArgumentError",
    "Assign",
    "Element",
    "Elements",
    "Event",
    "Explanation",
    "InputError",
    "InternalError",
    "Interrupted",
    "OutputError",
    "Parameter",
    "PathweaveError",
    "PathweaveWarning",
    "Results",
    "Scenario",
    "ScenarioError",
    "Scheduler",
    "SchedulerError",
    "SubflowView",
    "Sweep",
    "Table",
    "Validation",
    "View",
    "Wait",
    "WorkerLostError",
    "algorithms",
    "arena",
    "builtin_scenarios",
    "compare",
    "explain",
    "register",
    "registered",
    "reproduce",
    "run",
    "scheduler",
    "sweep",
    "unregister",
    "validate",
]
