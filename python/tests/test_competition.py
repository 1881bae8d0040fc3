"""Scores at points of the arena."""

import re
import subprocess

import pytest

import pathweave


class Last:
    """The last subflow with room."""

    def decide(self, view):
        free = [s for s in view.candidates if s.has_space]
        return pathweave.Assign(free[-1], free[-1].window_space) if free else None


def test_a_rule_of_ones_own_is_scored_as_the_command_scores(command, tmp_path):
    points = ["sized-tuning/2-3", "sized-evaluation/1"]
    scores = pathweave.arena(["roundrobin", Last], against=["minrtt"], points=points, seeds=1)
    assert scores.points.shape[0] == 9
    assert scores.points[0] | {"settings": ""} == {
        "scheduler": "roundrobin",
        "plan": "sized-evaluation",
        "scenario": "sized",
        "point": 1,
        "score": scores.points["score"][0],
        "bound_share": None,
        "settings": "",
    }
    assert scores.verdict
    assert scores.verdict in str(scores)
    assert not scores.problems
    # A class in Python is no scheduler of the command.
    arguments = ["arena", "roundrobin,minrtt", "--points", ",".join(points), "--seeds", "1", "--out", str(tmp_path)]
    said = subprocess.run([command, *arguments], capture_output=True, text=True, check=True).stdout
    assert scores.verdict in said
    page = scores.to_html(tmp_path / "page.html").read_text()
    assert "pathweave arena roundrobin,minrtt --point sized-tuning/2 --explain" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"points": "sized-tunings/1"}, r"points: unknown plan `sized-tunings`; did you mean `sized-tuning`\?"),
        ({"points": "sized-tuning/0"}, "points: allowed: FAMILY, FAMILY/N and FAMILY/N-M"),
        ({"points": 3}, re.escape("points = 3 (int): allowed: a family, ")),
        ({"only": "recorded"}, "the plans need recordings of cellular links, .*; source names a folder"),
        ({"points": "sized-tuning/1", "against": "minrt"}, "minrt"),
        ({"source": "nowhere"}, "nowhere: .*; source names the folder"),
    ],
)
def test_mistakes_name_arguments(arguments, said):
    with pytest.raises(pathweave.InputError, match=said):
        pathweave.arena("roundrobin", **arguments)
