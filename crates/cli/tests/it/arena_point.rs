//! `pathweave arena --against`, some points of it, and one.

use crate::{folder, pathweave, stderr, stdout};
use std::fs;

const PLAN: &str = "format = 1\nname = \"tiny\"\nscenarios = [\"wlan-3g\"]\nset = { duration = \"3s\", measure_from = \"0s\" }\n\
    seeds = 1\nbaselines = false\nschedulers = [\"single:path=0\", \"single:path=1\"]\n\
    [[parameter]]\nname = \"buffer\"\nvalues = [\"60KB\", \"1MB\"]\nset = { \"connection.receive_buffer\" = \"{}\" }\n";

#[test]
fn the_page_begins_with_the_answer_and_each_point_is_opened_by_its_command() {
    let folder = folder("arena-point");
    fs::create_dir(folder.join("plans")).expect("the folder is new");
    fs::write(folder.join("plans/tiny.toml"), PLAN).expect("the plan can be written");
    let arena = |more: &[&str]| pathweave(&folder, &[&["arena"], more, &["--from", "plans", "--out", "out"]].concat());
    let output = arena(&["blest", "--against", "minrtt"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let answer = stdout(&output).lines().nth(3).map(str::to_owned).unwrap_or_default();
    assert!(answer.contains("blest") && answer.contains("minrtt") && answer.contains("of 2 points"), "{answer}");
    let page = fs::read_to_string(folder.join("out/arena.html")).expect("there is a page");
    assert!(page.find(&answer) < page.find("<table") && page.contains(&answer), "the page begins with the answer");
    let command = "pathweave arena blest,minrtt --from plans --out out --point tiny/1 --explain";
    assert!(page.contains(&format!("buffer 60KB<br><code>{command}</code>")), "{command}");

    let words: Vec<&str> = command.split(' ').skip(1).collect();
    let output = pathweave(&folder, &words);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("tiny/1: buffer 60KB\n\nwlan-3g\n"), "{text}");
    assert!(text.contains("As a page: out/points/tiny-1.html\n\nWith seed 1 they part most from "), "{text}");
    for name in ["blest", "minrtt"] {
        let lead = format!("Each decision: out/points/tiny-1-{name}-from-");
        let file =
            text.lines().find(|line| line.starts_with(&lead)).and_then(|line| line.strip_prefix("Each decision: "));
        let page = file.and_then(|file| fs::read_to_string(folder.join(file)).ok()).unwrap_or_default();
        assert!(page.contains("<a href=\"./tiny-1.html\">All schedulers on wlan-3g</a>"), "{name}: {text}");
    }

    for (arguments, message) in [
        (
            "blest,minrtt --point tinny/1",
            "error: --point: unknown plan `tinny`; did you mean `tiny`? The plans are tiny",
        ),
        ("blest,minrtt --point tiny/3", "error: --point = tiny/3: the plan has 2 points"),
        ("blest,minrtt --point tiny", "error: --point = tiny: write FAMILY/N, such as "),
        ("blest --point tiny/1 --explain", "error: --explain compares two schedulers; name two, "),
    ] {
        let output = arena(&arguments.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(stderr(&output).starts_with(message), "{arguments}: {}", stderr(&output));
    }
}

/// The folder of the test has no plans: the program carries them.
#[test]
fn some_points_of_the_carried_plans_are_run_and_one_is_opened_anywhere() {
    let folder = folder("arena-carried");
    let arena = |more: &str| {
        let words = format!("arena minrtt,roundrobin --seeds 1 --out out {more}");
        pathweave(&folder, &words.split_whitespace().collect::<Vec<_>>())
    };
    let output = arena("--points sized-tuning/2,small-window-tuning/steady/1-2");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("2 schedulers · 3 comparisons · 1 seed\n"), "{text}");
    assert!(text.ends_with("\nAs a page: out/arena.html\n"), "{text}");
    let page = fs::read_to_string(folder.join("out/arena.html")).expect("there is a page");
    let command = "pathweave arena minrtt,roundrobin --seeds 1 --out out --point sized-tuning/2 --explain";
    assert!(page.contains(command), "points keep their numbers");

    let output = arena("--point sized-tuning/2");
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(folder.join("out/points/sized-tuning-2.html")).expect("there is a page");
    // The page's commands need the scenario as a file.
    let file = "out/points/_two-paths.toml";
    assert!(page.contains(&format!("pathweave explain {file}")) && folder.join(file).exists());

    for (arguments, message) in [
        ("--points sized-tuning/0", "error: --points = sized-tuning/0: write FAMILY, FAMILY/N or FAMILY/N-M, "),
        ("--points sized-tunings/1", "error: --points: unknown plan `sized-tunings`; did you mean `sized-tuning`?"),
        ("--points sized-tuning/9999", "error: --points: sized-tuning has no point 9999; the plan has "),
        (
            "--only recorded",
            "error: the plans need recordings of cellular links, which the program does not carry; --from ",
        ),
    ] {
        let output = arena(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(stderr(&output).starts_with(message), "{arguments}: {}", stderr(&output));
    }
}
