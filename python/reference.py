"""Writes the API reference from the docstrings of the installed package: `python reference.py [--check] FILE`."""

from __future__ import annotations

import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pathweave
import pathweave.gym

START = """# Python: every name

Generated from the docstrings by `cargo xtask python --bless`; every example is run as a test. [python.md](python.md) says how it is used.
"""


def described(thing: object) -> str:
    """Its docstring, with examples and lists of arguments as code and as lists."""
    text = inspect.getdoc(thing) or ""
    lines, inside = [], False
    for line in text.splitlines():
        example = line.startswith((">>>", "...")) or (inside and bool(line.strip()))
        if example and not inside:
            lines.append("```python")
        if inside and not example:
            lines.append("```")
        inside = example
        if line in ("Args:", "Returns:", "Raises:", "Attributes:"):
            lines.append(f"**{line[:-1]}**\n")
        elif line.startswith("    ") and not example:
            lines.append(line[4:] if line.startswith("     ") else f"- {line[4:]}")
        else:
            lines.append(line)
    if inside:
        lines.append("```")
    return "\n".join(lines)


def signature(name: str, function: Callable[..., object]) -> str:
    """A call, wrapped."""
    try:
        shown = f"{name}{inspect.signature(function)}"
    except (TypeError, ValueError):
        return name
    return "\n".join(textwrap.wrap(shown.replace("'", '"'), 100, subsequent_indent="    ", break_long_words=False))


def members(cls: type) -> Iterator[tuple[str, object]]:
    """What users call, in the order of the source; what a class inherits from another one of this package comes first."""
    own = [base for base in reversed(cls.__mro__) if base.__module__.startswith("pathweave.tables") or base is cls]
    for name in dict.fromkeys(name for base in own for name in vars(base)):
        member = next(vars(base)[name] for base in reversed(own) if name in vars(base))
        if not name.startswith("_") and (callable(member) or isinstance(member, property | classmethod | staticmethod)):
            yield name, member


def section(name: str, thing: object) -> str:
    """One name."""
    text = f"\n## `{name}`\n\n"
    if not inspect.isclass(thing):
        return text + f"```python\n{signature(name, thing)}\n```\n\n{described(thing)}\n"  # type: ignore[arg-type]
    text += f"{described(thing)}\n"
    for member_name, member in members(thing):
        if isinstance(member, property):
            text += f"\n### `{name}.{member_name}`\n\n{described(member)}\n"
        elif inspect.isgetsetdescriptor(member) or inspect.isdatadescriptor(member):
            text += f"\n- `{member_name}`: {inspect.getdoc(member) or ''}\n"
        else:
            function = getattr(thing, member_name)
            text += f"\n### `{name}.{member_name}`\n\n```python\n{signature(member_name, function)}\n```\n\n"
            text += f"{described(member)}\n"
    natives = sorted(
        (attribute, member)
        for attribute, member in vars(thing).items()
        if inspect.isgetsetdescriptor(member) and not attribute.startswith("_")
    )
    if natives:
        text += "\n| attribute | what it is |\n|---|---|\n"
        text += "".join(f"| `{n}` | {' '.join((inspect.getdoc(m) or '').split())} |\n" for n, m in natives)
    return text


def main() -> int:
    """Writes the file, or compares it."""
    *options, path = sys.argv[1:]
    text = START + "".join(section(name, getattr(pathweave, name)) for name in pathweave.__all__)
    text += f"\n# `pathweave.gym`\n\n{described(pathweave.gym)}\n"
    names = [name for name in pathweave.gym.__all__ if callable(getattr(pathweave.gym, name))]
    text += "".join(section(f"gym.{name}", getattr(pathweave.gym, name)) for name in names)
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    file = Path(path)
    if "--check" not in options:
        file.write_text(text, encoding="utf-8")
        return 0
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return 0
    print(f"{path} is not what the docstrings say: cargo xtask python --bless")
    return 1


if __name__ == "__main__":
    sys.exit(main())
