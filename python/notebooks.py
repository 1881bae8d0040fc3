"""Runs the notebooks, and stores in them what their cells show: `python notebooks.py`.

Charts are stored as pictures, with the hash of their data and their form, because letters differ between machines. The tests run the
notebooks and compare the outputs with the stored ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import vl_convert

NOTEBOOKS = Path(__file__).parent / "notebooks"
CHART = "application/vnd.vegalite+json"
# Charts come as data, which is drawn here.
BEFORE = f"""import altair
altair.renderers.register("stored", lambda spec, **_: {{"{CHART}": spec, "text/plain": "a chart"}})
_ = altair.renderers.enable("stored")"""


def executed(file: Path, folder: Path) -> Any:
    """The notebook with the outputs that it has today. Its cells run in `folder`."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Tables as text are as wide everywhere.
    os.environ["COLUMNS"] = "100"
    notebook = nbformat.read(file, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(BEFORE))
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", record_timing=False, resources={"metadata": {"path": str(folder)}}
    )
    done = client.execute()
    done.cells.pop(0)
    for number, cell in enumerate((cell for cell in done.cells if cell.cell_type == "code"), 1):
        cell.execution_count = number
        kept = (_kept(output, number, str(folder)) for output in cell.outputs)
        cell.outputs = _joined(output for output in kept if output is not None)
    # The kernel's version is none of the notebook's.
    done.metadata.language_info = {"name": "python"}
    return done


def _joined(outputs: Iterable[Any]) -> list[Any]:
    """Outputs with the text of one stream in one piece: the kernel may send a line and its end apart."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == joined[-1].output_type == "stream":
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


def _kept(output: Any, number: int, folder: str) -> Any:
    """An output without what differs between machines; ``None`` for messages and bars."""
    if output.output_type == "stream":
        if output.name != "stdout":
            return None
        output.text = _clean(output.text, folder)
        return output
    if "execution_count" in output:
        output.execution_count = number
    data: dict[str, Any] = {}
    for kind, value in output.data.items():
        if kind == CHART:
            text = json.dumps(value, sort_keys=True)
            data["image/png"] = base64.b64encode(vl_convert.vegalite_to_png(text)).decode()
            output.metadata = nbformat.from_dict({"chart": hashlib.sha256(text.encode()).hexdigest()})
        elif isinstance(value, str):
            data[kind] = _clean(value, folder)
    output.data = nbformat.from_dict(data)
    return output


def _clean(text: str, folder: str) -> str:
    text = re.sub(r"/\S*/ipykernel_\d+/\d+\.py", "CELL", text.replace(folder, "FOLDER"))
    # Not every version of Python marks the place in a line of a traceback alike.
    return re.sub(r" at 0x[0-9a-f]+|\n *[~^]+(?=\n|$)", "", text)


def shown(notebook: Any) -> list[Any]:
    """What the cells show, without pictures: they are stood for by the hashes of their charts."""
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    for output in outputs:
        output.get("data", {}).pop("image/png", None)
    return outputs


def main() -> None:
    """Stores today's outputs."""
    for file in [Path(name) for name in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(file, Path(folder).resolve())
        text = nbformat.writes(notebook)
        file.write_text(f"{text.rstrip()}\n", encoding="utf-8")
        print(f"{file}: {len(text) / 1000:.0f} KB")


if __name__ == "__main__":
    main()
