"""Altair, or an error that says how to install it."""

from pathweave._errors import InputError

try:
    import altair as altair
except ImportError:
    raise InputError("plots are made by Altair: pip install 'pathweave[plot]'") from None
