//! Every kind of error, with its exact message.

use super::*;

#[test]
fn syntax_errors_keep_their_line() {
    says("format = 1\nname = \n", "test.toml:2: string values must be quoted, expected literal string");
    says("format = 1\nformat = 1\n", "test.toml:2: duplicate key");
}

#[test]
fn the_format_is_asked_for() {
    says("name = \"x\"", "test.toml:1: format is missing: it takes 1");
    says("name = \"x\"\nformat = 2", "test.toml:2: format = 2: allowed: 1");
}

#[test]
fn a_name_a_path_and_a_duration_are_asked_for() {
    says("format = 1\n[[path]]", "test.toml:1: name is missing: it takes the scenario's name");
    says("format = 1\nname = \"x\"", "test.toml:1: path is missing: it takes at least one table [[path]]");
    says(
        "format = 1\nname = \"x\"\n[[path]]",
        "test.toml:1: duration is missing: it takes a time above zero such as 10ms or 1.5s",
    );
}

#[test]
fn unknown_keys_list_the_known_ones() {
    says(
        "format = 1\ncolour = \"blue\"",
        "test.toml:2: unknown setting `colour`; there are: name, description, source, duration, ends_with, measure_from, series_step, \
         trace_start, format, node, link, path, connection, traffic, scheduler",
    );
    says(
        &with_path("bandwidth = \"8Mbps\""),
        "test.toml:5: unknown setting `bandwidth`; there are: name, rate, overhead, queue, delay, jitter, keep_order, \
         reorder, loss, loss_position, duplicate, corrupt, on_down, trace, quota, \
         cost, priority, backup, middlebox, links, up, down, change",
    );
    says(
        &with_path("[path.down]\ncost = 1"),
        "test.toml:6: unknown setting `cost`; there are: rate, overhead, queue, delay, jitter, keep_order, reorder, loss, \
         loss_position, duplicate, corrupt, on_down, trace",
    );
    let text = with_connection("buffer = 1");
    assert_eq!(error_of(&text).problem, Problem::UnknownKey);
    assert_eq!(error_of(&text).line(), 7);
}

#[test]
fn a_setting_of_another_section_is_suggested_by_its_whole_name() {
    let with = |key: &str| {
        let mut document = document(&with_connection(""));
        let wrong = document.set(key, "1").and_then(|()| document.scenario(&Registry::builtin(), &Variant::AsWritten));
        wrong.expect_err("there is no such setting").to_string()
    };
    for (key, meant) in [
        ("receive_buffer", "`receive_buffer` (did you mean `connection.receive_buffer`?)"),
        ("path.a.receive_buffer", "`receive_buffer` (did you mean `connection.receive_buffer`?)"),
        ("path.receive_buffer", "`path.receive_buffer` (did you mean `connection.receive_buffer`?)"),
        ("recieve_buffer", "`recieve_buffer` (did you mean `connection.receive_buffer`?)"),
        (
            "buffer",
            "`buffer` (did you mean `connection.send_buffer`, `connection.receive_buffer` or `connection.send_buffer_tuning`?)",
        ),
        ("connection.loss", "`connection.loss` (did you mean `path.loss`?)"),
        ("connection.duration", "`connection.duration` (did you mean `duration`?)"),
    ] {
        let error = with(key);
        assert!(error.starts_with(&format!("--set: unknown setting {meant}; ")), "{error}");
    }
    let error = with("path.b.rate");
    assert!(error.starts_with("--set: unknown setting `path.b.rate`; after path there are: "), "{error}");
}

#[test]
fn the_nearest_name_comes_first() {
    let starts = |text: &str, expected: &str| {
        let error = error_of(text).to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    starts(
        &with_path("dealy = \"10ms\""),
        "test.toml:5: unknown setting `dealy` (did you mean `delay`?); there are: name",
    );
    starts(&with_path("rate = \"unlimted\""), "test.toml:5: rate = unlimted; did you mean `unlimited`? Allowed: ");
    starts(
        &with_path("middlebox = \"splitt:size=500B\""),
        "test.toml:5: middlebox = splitt:size=500B; did you mean `split`? Allowed: ",
    );
    starts(
        &with_connection("workload = \"tranfer:size=1MB\""),
        "test.toml:7: workload = tranfer:size=1MB; did you mean `transfer`? Allowed: ",
    );
    starts(&with_connection("pr = \"flase\""), "test.toml:7: pr = flase; did you mean `false`? Allowed: ");
    starts(
        &with_connection("scheduler = \"blest:lamda=1.2\""),
        "test.toml:7: unknown setting `scheduler.lamda` (did you mean `scheduler.lambda`?); there are: ",
    );
    let unknown = |text: &str| {
        let spec = SchedulerSpec::parse(text).expect("it has the form of an entry");
        spec.check(&Registry::builtin()).expect_err("there is no such thing").to_string()
    };
    let error = unknown("minrt");
    assert!(error.starts_with("--schedulers: unknown scheduler `minrt`; did you mean `minrtt`? Allowed: "), "{error}");
    let error = unknown("blest:lamda=1.2");
    assert!(
        error.starts_with(
            "--schedulers: blest:lamda=1.2: unknown setting `lamda` (did you mean `lambda`?); there are: "
        ),
        "{error}"
    );
}

#[test]
fn traffic_has_its_own_keys() {
    says(
        &with_path("[[traffic]]\nkind = \"udp\""),
        "test.toml:6: unknown setting `kind`; there are: name, path, direction, pattern, start, stop",
    );
}

#[test]
fn units_are_asked_for() {
    says(
        &with_path("rate = 8"),
        "test.toml:5: rate = 8: allowed: a rate such as 8Mbps, unlimited, \
         token-bucket:rate=8Mbps:burst=3028B, or in its place trace = a file or cellular:mean_rate=12Mbps",
    );
    says(&with_path("delay = 10"), "test.toml:5: delay = 10: allowed: a time such as 10ms or 1.5s");
    says(
        &with_connection("send_buffer = \"60\""),
        "test.toml:7: send_buffer = 60: allowed: a size above zero such as 200KB (1000), 128KiB (1024) or 1500B",
    );
}

#[test]
fn values_out_of_range_are_told() {
    let queue = "a limit above zero such as 100packets, 150KB or 50ms, \
                 or codel:target=5ms:interval=100ms:limit=1000packets:ecn=true";
    says(&with_path("queue = \"0packets\""), &format!("test.toml:5: queue = 0packets: allowed: {queue}"));
    let loss = "a probability such as 1% or 0.01, from 0% to 100% (one of 1 or more needs its %), or \
                gilbert-elliott:to_bad=1%:to_good=25%:loss_bad=60%:loss_good=0%";
    says(&with_path("loss = \"101%\""), &format!("test.toml:5: loss = 101%: allowed: {loss}"));
    says(&with_path("loss = 1.5"), &format!("test.toml:5: loss = 1.5: allowed: {loss}"));
    says(&with_path("delay = \"-1ms\""), "test.toml:5: delay = -1ms: allowed: a time such as 10ms or 1.5s");
    says(&with_connection("mtu = 100"), "test.toml:7: mtu = 100: allowed: a whole number from 576 to 65535");
    says(&with_connection("pr = \"yes\""), "test.toml:7: pr = yes: allowed: true or false");
    says(
        &with_connection("receive_buffer = \"auto 6MiB..1MiB\""),
        "test.toml:7: receive_buffer = auto 6MiB..1MiB: allowed: a fixed size such as 60KB, or auto with a range \
         such as auto 128KiB..6MiB",
    );
}

#[test]
fn parts_of_compound_values_have_names() {
    says(
        &with_path("queue = \"codel:target=5\""),
        "test.toml:5: queue.target = 5: allowed: a time above zero such as 10ms or 1.5s",
    );
    says(
        &with_path("queue = { kind = \"codel\", tarket = \"5ms\" }"),
        "test.toml:5: unknown setting `queue.tarket` (did you mean `queue.target`?); there are: target, interval, ecn, limit",
    );
    says(
        &with_path("loss = \"gilbert-elliott:to_bad=1%\""),
        "test.toml:5: loss.to_good = nothing: allowed: a probability such as 1% or 0.01, from 0% to 100%; a number of 1 or more needs a %, as in 1% or 100%",
    );
    let error = error_of(&with_path("loss = \"1%:2%\"")).to_string();
    assert!(error.starts_with("test.toml:5: loss = 1%:2%: allowed: a probability such as 1% or 0.01, "), "{error}");
    says(
        &with_path("loss = \"gilbert-elliott:1%\""),
        "test.toml:5: loss.1% = nothing: allowed: key=value between colons",
    );
    says(
        &with_path("trace = \"cellular:mean_rate=12Mbps:length=1ms\""),
        "test.toml:5: trace.length = 1ms: allowed: a time from 20ms to 4000000s such as 600s",
    );
    says(
        &with_path("queue = { limit = \"1packets\" }"),
        "test.toml:5: queue.kind is missing: it takes the kind's name",
    );
}

#[test]
fn a_wrong_part_of_a_table_has_its_own_line_and_columns() {
    let error = error_of(&with_path("[path.queue]\nkind = \"codel\"\ntarget = \"fast\""));
    assert_eq!(error.to_string(), "test.toml:7: queue.target = fast: allowed: a time above zero such as 10ms or 1.5s");
    assert_eq!(error.columns(), 10..16);
    assert_eq!(&error.source[error.span.clone()], "\"fast\"");
}

#[test]
fn shapes_are_told() {
    says(
        "format = 1\nname = \"x\"\npath = 3",
        "test.toml:3: path = 3: allowed: tables, each with the heading [[path]]",
    );
    says(
        "format = 1\nname = \"x\"\n[path]",
        "test.toml:3: path = a table: allowed: tables, each with the heading [[path]]",
    );
    says(&with_path("down = \"fast\""), "test.toml:5: down = fast: allowed: a table");
    says(&with_path("delay = [\"1ms\"]"), "test.toml:5: delay = a list: allowed: one value");
}

#[test]
fn rate_and_trace_exclude_each_other() {
    says(
        &with_path("rate = \"8Mbps\"\ntrace = \"lte.down\""),
        "test.toml:6: trace = lte.down: allowed: either rate or trace",
    );
}

#[test]
fn names_are_unique_and_known() {
    says(
        &with_path("name = \"a\"\n[[path]]\nname = \"a\""),
        "test.toml:7: name = a: allowed: a name that no other path has",
    );
    says(
        &with_path("name = \"1\""),
        "test.toml:5: name = 1: allowed: a name of letters, digits, - and _ with at least one letter",
    );
    says(&with_connection("paths = [\"a\", \"b\"]"), "test.toml:7: paths = b: allowed: a");
    says(&with_connection("paths = [\"a\", \"a\"]"), "test.toml:7: paths = a: allowed: each path once");
    says(&with_connection("paths = []"), "test.toml:7: paths = a list: allowed: at least one path");
    says(
        &with_connection("name = \"x\"\n[[connection]]\nname = \"x\""),
        "test.toml:9: name = x: allowed: a name that no other connection has",
    );
}

#[test]
fn algorithms_are_those_of_the_registry() {
    let registry = Registry::builtin();
    let schedulers: Vec<_> = registry.schedulers().iter().map(|factory| factory.name()).collect();
    let controllers: Vec<_> = registry.controllers().iter().map(|factory| factory.name()).collect();
    let (schedulers, controllers) = (schedulers.join(", "), controllers.join(", "));
    says(
        &with_connection("scheduler = \"mintt\""),
        &format!("test.toml:7: unknown scheduler `mintt`; did you mean `minrtt`? Allowed: {schedulers}"),
    );
    says(
        &with_connection("congestion = \"bbr\""),
        &format!("test.toml:7: unknown congestion controller `bbr`; allowed: {controllers}"),
    );
    says(
        &with_connection("scheduler = \"single:path=99\""),
        "test.toml:7: scheduler.path = 99: allowed: a whole number from 0 to 31",
    );
    says(
        &with_connection("congestion = { kind = \"reno\", beta = 2 }"),
        "test.toml:7: unknown setting `congestion.beta`; there is no parameter at all",
    );
    says(
        &with_path("[scheduler.mintt]\npr = true"),
        &format!(
            "test.toml:5: unknown setting `scheduler.mintt` (did you mean `scheduler.minrtt`?); there are: {schedulers}"
        ),
    );
    let error = error_of(&with_path("[scheduler.single]\npatience = \"long\""));
    assert_eq!(error.to_string(), "test.toml:6: patience = long: allowed: a time such as 10ms or 1.5s");
    let error = error_of(&with_path("[scheduler.single]\ncolour = \"blue\"")).to_string();
    assert!(
        error.starts_with("test.toml:6: unknown setting `colour`; there are: path, patience, mptcp, measured, "),
        "{error}"
    );
    let error = error_of(&with_connection("scheduler = \"single:colour=blue\"")).to_string();
    assert!(
        error.starts_with(
            "test.toml:7: unknown setting `scheduler.colour`; there are: path, patience, mptcp, measured, "
        ),
        "{error}"
    );
}

#[test]
fn times_must_fit_together() {
    says(
        "format = 1\nname = \"x\"\nduration = \"5s\"\nmeasure_from = \"5s\"\n[[path]]",
        "test.toml:4: measure_from = 5s: allowed: a time before the end at 5s (duration)",
    );
    says(
        &with_connection("min_rto = \"2s\"\nmax_rto = \"1s\""),
        "test.toml:7: min_rto = 2s: allowed: min_rto (2s) up to max_rto (1s)",
    );
}

#[test]
fn of_two_settings_that_do_not_fit_the_override_is_at_fault() {
    let error = |overrides: &[(&str, &str)]| {
        let text = "format = 1\nname = \"x\"\nduration = \"30s\"\nmeasure_from = \"10s\"\n\
                    [[path]]\nrate = \"1Mbps\"\ndelay = \"1ms\"";
        let mut document = document(text);
        overrides.iter().for_each(|(key, value)| document.set(key, value).expect("it is a setting"));
        document.scenario(&Registry::builtin(), &Variant::AsWritten).map_err(|error| (error.problem, error.to_string()))
    };
    assert_eq!(
        error(&[("duration", "5s")]),
        Err((
            Problem::Conflict,
            "--set: duration = 5s: allowed: more than measure_from, which is 10s in this scenario; \
             measure_from can be set too"
                .into()
        ))
    );
    for both in [[("duration", "5s"), ("measure_from", "6s")], [("measure_from", "6s"), ("duration", "5s")]] {
        let (problem, text) = error(&both).expect_err("the run ends before");
        assert_eq!(problem, Problem::Conflict);
        assert!(text.starts_with(&format!("--set: {} = {}: allowed: ", both[1].0, both[1].1)), "{text}");
    }
    for both in [[("duration", "5s"), ("measure_from", "1s")], [("measure_from", "1s"), ("duration", "5s")]] {
        assert!(error(&both).is_ok());
    }
    let (_, text) = error(&[("connection.max_rto", "10ms")]).expect_err("the smallest is larger");
    assert!(text.starts_with("--set: connection.max_rto = 10ms: allowed: min_rto ("), "{text}");
}

#[test]
fn something_is_measured() {
    says(
        &with_connection("measured = false"),
        "test.toml:7: measured = false: allowed: true for at least one connection",
    );
}

#[test]
fn changes_have_a_time_and_a_direction() {
    says(
        &with_path("[[path.change]]\nrate = \"1Mbps\""),
        "test.toml:5: at is missing: it takes a time such as 10ms or 1.5s",
    );
    says(
        &with_path("[[path.change]]\nat = \"1s\"\ndirection = \"left\""),
        "test.toml:7: direction = left: allowed: both, up, down",
    );
    says(
        &with_path("[[path.change]]\nat = \"1s\"\nevery = \"0s\""),
        "test.toml:7: every = 0s: allowed: a time above zero such as 10ms or 1.5s",
    );
    says(
        &with_path("[[path.change]]\nat = \"1s\"\nevery = \"1us\""),
        "test.toml:7: every = 1us: allowed: a time that is contained at most 10000 times in the run of 5s",
    );
}

#[test]
fn columns_count_characters() {
    let error = error_of("format = 1\nname = \"\u{e4}\u{f6}\"\nduration = \"soon\"\n[[path]]");
    assert_eq!((error.line(), error.columns()), (3, 12..18));
}

#[test]
fn a_trace_that_cannot_be_read_is_told_at_its_place() {
    let error = document(&with_path("trace = \"lte.down\"")).trace_error("lte.down", "no such file");
    assert_eq!(
        error.to_string(),
        "test.toml:5: trace = lte.down: allowed: a readable file in mahimahi's format (no such file)"
    );
}

#[test]
fn a_bucket_that_is_smaller_than_a_packet_is_told() {
    let bucket = with_path("rate = \"token-bucket:rate=8Mbps:burst=3028B\"");
    let error = |text: &str| error_of(text).to_string();
    let text = format!("{bucket}\n[[connection]]\nmtu = 9000\n");
    assert!(error(&text).contains("mtu = 9000: allowed: at most 3014, or a larger bucket"), "{}", error(&text));
    let later = format!("{bucket}\n[[path.change]]\nat = \"1s\"\nrate = \"token-bucket:rate=8Mbps:burst=1000B\"\n");
    assert!(error(&later).contains("mtu = 1500: allowed: at most 986"), "{}", error(&later));
}
