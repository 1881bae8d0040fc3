//! `pathweave sweep` and `pathweave reproduce`.

use crate::{folder, pathweave, stderr, stdout};
use std::fs;
use std::path::Path;

const PLAN: &str = r#"
format = 1
name = "small"
scenarios = ["cp-asymmetric"]
schedulers = ["minrtt", "redundant"]
seeds = 2
set = { duration = "3s", measure_from = "1s" }

[[parameter]]
name = "buffer"
label = "receive buffer, KB"
values = [40, 400]
set = { "connection.receive_buffer" = "{}KB" }

[[figure]]
x = "buffer"

[[claim]]
id = "redundant-not-above-one"
says = "Redundant delivers at most what plain TCP does (tolerance 5 %)"
source = "its rule"
[[claim.compare]]
left = "redundant"
is = "<="
right = 7.7
margin = "5%"
"#;

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn shards_are_the_whole_for_any_number_and_any_threads() {
    let folder = folder("sweep-shards");
    fs::write(folder.join("p.toml"), PLAN).expect("the plan can be written");
    let output = pathweave(&folder, &["sweep", "p.toml", "--out", "one", "--jobs", "2"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("holds      redundant-not-above-one") && text.contains("16 runs: "), "{text}");
    for shard in ["2/3", "1/3", "3/3"] {
        let output = pathweave(&folder, &["sweep", "p.toml", "--out", "three", "--shard", shard, "--jobs", "1"]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let (one, three) = (read(folder.join("one/runs.jsonl")), read(folder.join("three/runs.jsonl")));
    assert_eq!(one.lines().count(), 16);
    assert!(one == three, "the shards together are not the whole");
    #[cfg(feature = "parquet")]
    for out in ["one", "three"] {
        let shard = if out == "one" { "1/1" } else { "2/3" };
        let output = pathweave(&folder, &["sweep", "p.toml", "--out", out, "--shard", shard, "--resume", "--parquet"]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    #[cfg(feature = "parquet")]
    {
        let [one, three] = ["one", "three"].map(|out| fs::read(folder.join(out).join("runs.parquet")));
        let (one, three) = (one.expect("it is there"), three.expect("it is there"));
        assert!(one.starts_with(b"PAR1") && one == three, "Parquet depends on the number of shards");
    }
    let page = read(folder.join("one/page.html"));
    assert!(page == read(folder.join("three/page.html")));
    for part in ["Which scheduler wins where", "The buffer needed", "redundant", "svg class=\"figure\""] {
        assert!(page.contains(part), "{part} is missing");
    }
}

#[test]
fn a_sweep_goes_on_where_it_was_torn() {
    let folder = folder("sweep-resume");
    fs::write(folder.join("p.toml"), PLAN).expect("the plan can be written");
    let sweep = |more: &[&str]| pathweave(&folder, &[&["sweep", "p.toml", "--out", "out"], more].concat());
    assert!(sweep(&[]).status.success());
    let file = folder.join("out/runs-1-of-1.jsonl");
    let whole = read(&file);
    // The header, five runs in another order, and half of a line.
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let mut torn: String = [0, 9, 2, 1, 5, 7].map(|i| lines[i]).concat();
    torn.push_str(&lines[3][..40]);
    fs::write(&file, &torn).expect("the file can be written");

    let output = sweep(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--resume goes on with them"), "{}", stderr(&output));
    assert!(sweep(&["--resume"]).status.success());
    assert!(read(&file) == whole, "a run is lost, made twice or different");

    // Another plan, or another program, is refused.
    let other = PLAN.replace("[40, 400]", "[40, 500]");
    fs::write(folder.join("p.toml"), other).expect("the plan can be written");
    let output = sweep(&["--resume"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("the plan has changed since"), "{}", stderr(&output));
    fs::write(folder.join("p.toml"), PLAN.replace("its rule", "elsewhere")).expect("the plan can be written");
    assert!(sweep(&["--resume"]).status.success(), "a claim's words change no run");
    let at = whole.find("\"program\":\"").expect("there is a program") + 18;
    fs::write(&file, format!("{}x{}", &whole[..at], &whole[at + 1..])).expect("the file can be written");
    let output = sweep(&["--resume"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("another version of this program"), "{}", stderr(&output));
}

#[test]
fn mistakes_name_the_place_in_the_plan() {
    let folder = folder("sweep-mistakes");
    let says = |from: &str, to: &str, expected: &str| {
        assert!(PLAN.contains(from), "{from} is not in the plan");
        fs::write(folder.join("p.toml"), PLAN.replacen(from, to, 1)).expect("the plan can be written");
        let output = pathweave(&folder, &["sweep", "p.toml", "--out", "out"]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.starts_with(&format!("error: p.toml:{expected}")), "{text}");
    };
    says("seeds = 2", "seeds = \"some\"", "6: seeds = some: allowed: a whole number from 1");
    says("seeds = 2", "sedes = 2", "6: unknown setting `sedes` (did you mean `seeds`?); there are: format, name");
    says(
        "[\"minrtt\", ",
        "[\"minrtt\", \"mintrr\", ",
        "5: unknown scheduler `mintrr`; did you mean `minrtt`? Allowed: minrtt, ",
    );
    says("cp-asymmetric", "cp-asymetric", "4: from = cp-asymetric; did you mean `cp-asymmetric`? Allowed: a file (");
    says("{}KB", "{}KBit", "13: receive_buffer = 40KBit: allowed: a fixed size such as 60KB");
    says("{}KB", "40KB", "13: connection.receive_buffer = 40KB: allowed: a value with {} in it");
    says("\"3s\"", "\"3 parsecs\"", "7: duration = 3 parsecs: allowed: a time");
    says("x = \"buffer\"", "x = \"delay\"", "16: x = delay: allowed: parameters of the plan: buffer");
    says("is = \"<=\"", "is = \"=<\"", "24: is = =<: allowed: <, >, <=, >=, =");
    says("left = \"redundant\"", "left = \"blest\"", "23: left = blest: allowed: minrtt, redundant");
    says("margin = \"5%\"", "where = { buffer = \"< 10\" }", "26: ");
    says(
        "margin = \"5%\"",
        "metric = \"goodput\"",
        "26: unknown metric `goodput`; did you mean `goodput_mbps`? Allowed: goodput_mbps, ",
    );
}

/// With a window of 40 KB, the slower path's data holds up the faster path's. The scenario's file does not have the
/// scenario's name.
#[test]
fn one_seed_gives_no_green_banner_and_the_terminal_has_the_answer() {
    let folder = folder("sweep-one-seed");
    let scenario = "format = 1\nname = \"two radios\"\nduration = \"6s\"\n[[path]]\nrate = \"30Mbps\"\ndelay = \"10ms\"\n\
                    [[path]]\nrate = \"12Mbps\"\ndelay = \"60ms\"\n";
    fs::write(folder.join("file.toml"), scenario).expect("the scenario can be written");
    let plan = "format = 1\nname = \"s\"\nscenarios = [\"file.toml\", \"cp-symmetric\"]\nschedulers = [\"minrtt\", \"roundrobin\"]\n\
                seeds = 1\nset = { duration = \"6s\", measure_from = \"1s\" }\n[[parameter]]\nname = \"buffer\"\nvalues = [100, 600]\n\
                set = { \"connection.receive_buffer\" = \"{}KB\" }\n";
    fs::write(folder.join("p.toml"), plan).expect("the plan can be written");
    let output = pathweave(&folder, &["sweep", "p.toml", "--out", "out"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let (text, page) = (stdout(&output), read(folder.join("out/page.html")));
    for sentence in [
        "One seed cannot tell whether several paths are worse than plain TCP on the best path.",
        "pairs of scheduler and point, lowest with ",
    ] {
        assert!(text.contains(sentence) && page.contains(sentence), "{sentence}: {text}");
    }
    assert!(page.contains("<div class=\"verdict open\">") && !page.contains("nowhere worse"));
    // By the mean, as there is no interval: an edge.
    assert!(page.contains("<rect class=\"worse\""));
    assert!(page.contains("two radios") && !page.contains(">file.toml") && !page.contains(" file.toml"));
    // As a comparison calls it.
    let runs = read(folder.join("out/runs.jsonl"));
    assert!(runs.contains("\"scenario\":\"two radios\"") && !runs.contains("file.toml"), "{runs}");
}

#[test]
fn a_parameter_that_does_not_reach_the_data_is_warned_of_once() {
    let folder = folder("sweep-unheard");
    let plan = "format = 1\nname = \"s\"\nscenarios = [\"wifi-lte\"]\nschedulers = [\"minrtt\"]\nseeds = 1\n\
                set = { duration = \"2s\", measure_from = \"1s\", \"connection.direction\" = \"download\" }\n\
                [[parameter]]\nname = \"rate\"\nvalues = [5, 30]\nset = { \"path.wifi.rate\" = \"{}Mbps\" }\n";
    let rate = "warning: wifi-lte: path.wifi.rate does not reach the data, which goes to the client: ";
    let scheduler = "warning: wifi-lte: connection.scheduler does not reach the measured data: each run has ";
    let reaching = plan.replace("wifi.rate", "wifi.down.rate");
    let parameter = plan.replace("path.wifi.rate", "connection.scheduler").replace("[5, 30]", "[\"blest\", \"ecf\"]");
    let set = reaching.replace("set = { duration", "set = { \"connection.scheduler\" = \"blest\", duration");
    for (i, (text, counts)) in
        [(plan.to_owned(), [1, 0]), (reaching, [0, 0]), (parameter.replace("{}Mbps", "{}"), [0, 1]), (set, [0, 1])]
            .into_iter()
            .enumerate()
    {
        fs::write(folder.join("p.toml"), text).expect("the plan can be written");
        let output = pathweave(&folder, &["sweep", "p.toml", "--out", &format!("out{i}")]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!([rate, scheduler].map(|w| stderr(&output).matches(w).count()), counts, "{}", stderr(&output));
    }
}

#[test]
fn failed_runs_are_named_on_the_page_and_in_the_terminal() {
    let folder = folder("sweep-failed");
    // A buffer that the first segments already overflow: no scheduler of its kind, and the transfer never ends.
    let plan = "format = 1\nname = \"s\"\nscenarios = [\"cp-asymmetric\"]\nschedulers = [\"minrtt\"]\nseeds = 2\n\
                set = { duration = \"2s\", measure_from = \"0s\", \"connection.bulk.workload\" = \"transfer:size=1GB\" }\n";
    fs::write(folder.join("p.toml"), plan).expect("the plan can be written");
    let output = pathweave(&folder, &["sweep", "p.toml", "--out", "out"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let sentence = "Stalled runs, which count with what they delivered: minrtt 2, tcp-path0 2, tcp-path1 2.";
    assert!(stdout(&output).contains(sentence), "{}", stdout(&output));
    let page = read(folder.join("out/page.html"));
    assert!(page.contains(&format!("<div class=\"verdict worse\"><p>{sentence}")) && !page.contains("nowhere worse"));
}

#[cfg(unix)]
#[test]
fn a_sweep_that_was_stopped_says_so() {
    use std::process::{Command, Stdio};
    let folder = folder("sweep-stopped");
    let plan = PLAN.replace("seeds = 2", "seeds = 2000").replace("duration = \"3s\"", "duration = \"30s\"");
    fs::write(folder.join("p.toml"), plan).expect("the plan can be written");
    let child = Command::new(env!("CARGO_BIN_EXE_pathweave"))
        .args(["sweep", "p.toml", "--out", "out"])
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command can be started");
    std::thread::sleep(std::time::Duration::from_secs(3));
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.is_ok_and(|s| s.success()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let finished = read(folder.join("out/runs-1-of-1.jsonl")).lines().count() - 1;
    let sentence = format!("{finished} of 16000 runs are finished; none of ");
    assert!(stdout(&output).contains(&sentence), "{}", stdout(&output));
    let page = read(folder.join("out/page.html"));
    assert!(page.contains(&format!("<div class=\"verdict worse\"><p>{sentence}")), "the page does not say so");
}

#[test]
fn points_come_from_a_file() {
    let folder = folder("sweep-points");
    let plan = PLAN.replace("values = [40, 400]\n", "").replace("seeds = 2", "points = \"points.csv\"\nseeds = 2");
    fs::write(folder.join("p.toml"), plan).expect("the plan can be written");
    let sweep = || pathweave(&folder, &["sweep", "p.toml", "--out", "out"]);
    fs::write(folder.join("points.csv"), "buffer\n40\n\n90,1\n").expect("the points can be written");
    let output = sweep();
    assert_eq!(
        stderr(&output).trim(),
        "error: points.csv:4: points = 90,1: allowed: 1 values with commas between them"
    );
    fs::write(folder.join("points.csv"), "buffer\n40\n90\n400\n").expect("the points can be written");
    let output = sweep();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(read(folder.join("out/runs.jsonl")).lines().count(), 24);
}

#[test]
fn reproductions_have_verdicts_figures_and_lines() {
    let folder = folder("reproduce");
    let experiments = folder.join("experiments/paper");
    fs::create_dir_all(&experiments).expect("the folder can be made");
    fs::write(experiments.join("fig1.toml"), PLAN).expect("the plan can be written");
    fs::write(folder.join("experiments/missing.md"), "## Not reproduced\n").expect("the file can be written");
    let reproduce = |what: &str| pathweave(&folder, &["reproduce", what, "--jsonl", "claims.jsonl", "--out", "out"]);
    let output = reproduce("paper/fig1");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("claims: holds 1, partly 0, undecided 0, fails 0. With"), "{}", stdout(&output));
    assert!(stdout(&output).contains("Not reproduced, with reasons: experiments/missing.md\n"), "{}", stdout(&output));
    let line: serde_json::Value = serde_json::from_str(&read(folder.join("claims.jsonl"))).expect("one line of JSON");
    for (key, value) in [("paper", "paper"), ("id", "fig1"), ("verdict", "holds"), ("source", "its rule")] {
        assert_eq!(line[key], value);
    }
    assert_eq!((line["seeds"].as_u64(), line["measured"].as_array().map(Vec::len)), (Some(2), Some(2)));
    let document = read(folder.join("out/reproduction.md"));
    assert!(document.contains("![small](paper-fig1-1.svg)") && document.ends_with("## Not reproduced\n"), "{document}");
    let svg = read(folder.join("out/paper-fig1-1.svg"));
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("<circle"));
    // A second time nothing is run, and a wrong name is an error.
    let again = fs::metadata(folder.join("out/paper/fig1/runs-1-of-1.jsonl")).and_then(|m| m.modified());
    assert!(reproduce("paper").status.success());
    assert_eq!(read(folder.join("out/reproduction.md")), document);
    assert!(again.is_ok());
    fs::remove_file(folder.join("experiments/missing.md")).expect("it was written above");
    let output = reproduce("paper");
    assert!(!stdout(&output).contains("Not reproduced"), "{}", stdout(&output));
    let output = reproduce("paper/fig2");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("did you mean `paper/fig1`? There are: paper/fig1"), "{}", stderr(&output));
}

/// The plan has a claim at each of three buffers; the promise needs the runs of one.
#[test]
fn promises_alone_need_fewer_runs() {
    let folder = folder("promises");
    let experiments = folder.join("experiments/paper");
    fs::create_dir_all(&experiments).expect("the folder can be made");
    let claim = |id: &str, more: &str, at: &str| {
        format!(
            "[[claim]]\nid = \"{id}\"\nsays = \"more\"\nsource = \"its rule\"\n{more}[[claim.compare]]\nleft = \"blest\"\n\
             is = \">\"\nright = \"minrtt\"\n{at}"
        )
    };
    let plan = "format = 1\nname = \"made-up\"\nscenarios = [\"cp-asymmetric\"]\nschedulers = [\"minrtt\", \"blest\", \"redundant\"]\n\
                baselines = false\nseeds = 2\nset = { duration = \"3s\", measure_from = \"1s\" }\n[[parameter]]\nname = \"buffer\"\nvalues = [40, 90, 400]\n\
                set = { \"connection.receive_buffer\" = \"{}KB\" }\n"
        .to_owned();
    let plan = plan
        + &claim("everywhere", "", "")
        + &claim("promised", "promise = \"an increase\"\n", "where = { buffer = 90 }\n");
    fs::write(experiments.join("fig1.toml"), plan).expect("the plan can be written");
    fs::write(experiments.join("fig2.toml"), PLAN).expect("the plan can be written");
    let output = pathweave(&folder, &["reproduce", "--promises", "--jsonl", "claims.jsonl", "--out", "out"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let claims = read(folder.join("claims.jsonl"));
    assert!(claims.lines().count() == 1 && claims.contains("\"claim_id\":\"promised\""), "{claims}");
    let runs = read(folder.join("out/paper/fig1/runs-1-of-1.jsonl"));
    assert_eq!(runs.lines().count(), 1 + 2 * 2, "a header, and two schedulers with two seeds at one buffer: {runs}");
    assert!(!folder.join("out/paper/fig2").exists(), "it has no promise");
}

/// The plan asks for plain TCP, which is then neither a scheduler nor one of the single paths that all schedulers are
/// scored against.
#[test]
fn the_arena_scores_against_single_paths_and_has_plain_tcp_beside() {
    let folder = folder("arena");
    let plan = "format = 1\nname = \"tiny\"\nscenarios = [\"cp-asymmetric\"]\nset = { duration = \"3s\", measure_from = \"1s\" }\n\
                seeds = 1\nschedulers = [\"single:path=0\", \"single:path=1\"]\n";
    fs::create_dir(folder.join("plans")).expect("the folder is new");
    fs::write(folder.join("plans/tiny.toml"), plan).expect("the plan can be written");
    let output = pathweave(&folder, &["arena", "single:path=1,single:path=0", "--from", "plans", "--out", "out"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = read(folder.join("out/arena.txt"));
    assert!(text.starts_with("2 schedulers · 1 comparison"), "{text}");
    // The faster path is as good as the better of the two.
    let best = text.lines().any(|line| line.split_whitespace().take(2).eq(["single:path=0", "1.000"]));
    assert!(best && text.contains("\nBeside plain TCP\n"), "{text}");
}

/// A competing TCP flow is compared with a flow on its own path. A scheduler that leaves that path alone does no harm
/// there.
#[test]
fn the_arena_compares_each_competitor_with_a_flow_on_its_own_path() {
    let folder = folder("arena-competitors");
    let path = |name: &str, rate: u32| {
        format!("[[path]]\nname = \"{name}\"\nrate = \"{rate}Mbps\"\ndelay = \"10ms\"\nqueue = \"50packets\"\n")
    };
    let tcp = |path: &str| {
        format!(
            "[[connection]]\nname = \"tcp-{path}\"\nmptcp = false\nmeasured = false\npaths = [\"{path}\"]\n\
             direction = \"upload\"\nworkload = \"bulk\"\n"
        )
    };
    let scenario = format!(
        "format = 1\nname = \"competing\"\ndescription = \"one\"\nsource = \"ours\"\nduration = \"4s\"\n{}{}\
         [[connection]]\nname = \"bulk\"\ndirection = \"upload\"\nworkload = \"bulk\"\n{}{}",
        path("a", 8),
        path("b", 2),
        tcp("a"),
        tcp("b")
    );
    let plan = "format = 1\nname = \"tiny\"\nseeds = 1\nschedulers = [\"single:path=0\", \"single:path=1\"]\n\
                [[scenario]]\nfrom = \"_competing.toml\"\n\
                [[parameter]]\nname = \"congestion\"\nset = { \"connection.bulk.congestion\" = \"{}\" }\nvalues = [\"lia\"]\n";
    fs::create_dir(folder.join("plans")).expect("the folder is new");
    fs::write(folder.join("plans/_competing.toml"), scenario).expect("the scenario can be written");
    fs::write(folder.join("plans/tiny.toml"), plan).expect("the plan can be written");
    let output = pathweave(&folder, &["arena", "single:path=0", "--from", "plans", "--out", "out"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = read(folder.join("out/arena.txt"));
    let table = text.split("Competitors beside coupled controllers").nth(1).expect("a controller is coupled");
    let row = table.lines().find(|line| line.starts_with("single:path=0")).expect("it is in the table");
    let [_, controller, flows, mean, least] = row.split_whitespace().collect::<Vec<_>>()[..] else { panic!("{row}") };
    // The flow beside the connection is unchanged, and the other one, which is alone, has more than beside a flow.
    assert_eq!((controller, flows, least), ("lia", "2", "1.000"), "{text}");
    assert!(mean.parse::<f64>().is_ok_and(|mean| mean > 1.05), "{text}");
}

/// Recordings are not part of the project, so a plan that needs them is left out if they are missing.
#[test]
fn the_arena_leaves_out_recordings_that_are_not_there() {
    let folder = folder("recordings");
    let plan = "format = 1\nname = \"tiny\"\nscenarios = [\"cp-symmetric\"]\nset = { duration = \"1s\", measure_from = \"0s\" }\n\
                seeds = 1\nbaselines = false\nschedulers = [\"single:path=0\"]\n";
    fs::create_dir(folder.join("plans")).expect("the folder is new");
    let recorded = plan.replace("tiny", "recorded").replace("1s", "2s");
    fs::write(folder.join("plans/recorded-tuning.toml"), recorded).expect("the plan can be written");
    let arena = || pathweave(&folder, &["arena", "minrtt", "--from", "plans", "--out", "out"]);
    let output = arena();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no recordings of cellular links in plans/recordings"), "{}", stderr(&output));
    fs::write(folder.join("plans/tiny.toml"), plan).expect("the plan can be written");
    let output = pathweave(&folder, &["arena", "minrtt", "--from", "plans", "--out", "out", "--only", "tinny"]);
    let expected = "error: --only = tinny: no plan of plans has this in its name; did you mean `tiny`? The first is recorded-tuning";
    assert_eq!((output.status.code(), stderr(&output).trim()), (Some(2), expected));
    let output = arena();
    assert!(output.status.success() && stderr(&output).starts_with("Left out: plans that begin with recorded; "));
    assert!(read(folder.join("out/arena.txt")).starts_with("1 scheduler · 1 comparison"));
    fs::create_dir(folder.join("plans/recordings")).expect("the folder is new");
    fs::write(folder.join("plans/recordings/lte.down"), "1\n2\n").expect("it can be written");
    let output = arena();
    assert!(output.status.success() && !stderr(&output).contains("Left out"), "{}", stderr(&output));
    assert!(read(folder.join("out/arena.txt")).starts_with("1 scheduler · 2 comparisons"));
}
