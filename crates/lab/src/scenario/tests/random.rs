//! No text makes the reader panic, and the writer can write whatever the reader accepts.

use super::*;
use crate::scenario::keys::known_keys;
use proptest::prelude::*;

/// Values for every parser, right and wrong ones.
const VALUES: &[&str] = &[
    "\"8Mbps\"",
    "\"unlimited\"",
    "\"10ms\"",
    "\"1%\"",
    "0.5",
    "0",
    "7",
    "true",
    "false",
    "\"100packets\"",
    "\"60KB\"",
    "\"auto 1KiB..2MiB\"",
    "\"codel:limit=50ms\"",
    "\"token-bucket:rate=1Mbps:burst=2KB\"",
    "\"uniform:amplitude=1ms\"",
    "\"0.1:extra=3ms\"",
    "\"gilbert-elliott:to_bad=1%:to_good=25%:loss_bad=60%\"",
    "\"cellular:mean_rate=3Mbps\"",
    "\"transfer:size=1MB\"",
    "\"cbr:rate=1Mbps:message=5KiB\"",
    "\"minrtt\"",
    "\"reno\"",
    "\"up\"",
    "\"before\"",
    "\"a\"",
    "[\"a\"]",
    "[]",
    "{ rate = \"1Mbps\" }",
    "{ kind = \"bulk\" }",
    "2020-01-01",
    "-1",
    "nan",
    "\"\"",
    "\"\\u0000:\"",
];

/// Lines with known keys and right or wrong values.
fn lines(section: &'static str) -> impl Strategy<Value = String> {
    let lines =
        prop::collection::btree_map(prop::sample::select(known_keys(section)), prop::sample::select(VALUES), 0..6);
    lines.prop_map(|lines| lines.into_iter().map(|(key, value)| format!("{key} = {value}\n")).collect())
}

proptest! {
    #[test]
    fn any_text_is_read_or_told(text in any::<String>()) {
        if let Ok(document) = Document::parse("x", &text) {
            let result = document.scenario(&Registry::builtin(), &Variant::AsWritten);
            if let Err(error) = result {
                let _ = (error.to_string(), error.line(), error.columns());
            }
        }
        if let Ok(spec) = SchedulerSpec::parse(&text) {
            let _ = spec.check(&Registry::builtin()).map_err(|e| (e.to_string(), e.columns()));
        }
    }

    #[test]
    fn any_override_is_taken_or_told(
        key in "[a-z0-9.]{0,24}|connection\\.[a-z_]{0,8}|path\\.[a0]\\.[a-z]{0,8}",
        value in any::<String>(),
    ) {
        let mut document = document(&with_connection("name = \"a\""));
        if document.set(&key, &value).is_ok() {
            let result = document.scenario(&Registry::builtin(), &Variant::AsWritten);
            let _ = result.map_err(|e| (e.to_string(), e.columns()));
        }
    }

    #[test]
    fn known_keys_with_any_values(
        path in lines("path"),
        direction in lines("direction"),
        change in lines("change"),
        connection in lines("connection"),
    ) {
        let text = with_path(&format!(
            "{path}\n[[path]]\n[path.up]\n{direction}\n[[path.change]]\nat = \"1s\"\n{change}\n\
             [[connection]]\n{connection}",
        ));
        match Document::parse("x", &text).and_then(|d| d.scenario(&Registry::builtin(), &Variant::AsWritten)) {
            Ok(scenario) => prop_assert_eq!(read(&scenario.to_toml()), scenario),
            Err(error) => prop_assert!(!error.allowed.is_empty() && error.line() > 3, "{}", error),
        }
    }

    #[test]
    fn known_keys_at_the_top_with_any_values(top in lines(""), link in lines("link")) {
        let text = format!("{top}\n[[link]]\n{link}");
        let read = |document: Document| document.scenario(&Registry::builtin(), &Variant::AsWritten);
        if let Err(error) = Document::parse("x", &text).and_then(read) {
            prop_assert!(!error.allowed.is_empty(), "{}", error);
        }
    }

    #[test]
    fn what_is_accepted_is_written(lines in prop::collection::vec(
        prop::sample::select(&[
            ("path", "rate = \"8.25Mbps\""), ("path", "delay = \"12.345678ms\""), ("path", "loss = \"0.3%\""),
            ("path", "trace = \"a b.down\""), ("path", "queue = \"codel:target=7ms\""), ("path", "cost = 0.1"),
            ("path", "down = { rate = \"token-bucket:rate=1Mbps:burst=2KB\" }"), ("path", "quota = \"3GiB\""),
            ("path", "name = \"x\""),
            ("path", "change = [{ at = \"1s\", up = false, trace = \"cellular:mean_rate=1Mbps\" }]"),
            ("connection", "workload = \"cbr:rate=1Mbps:message=5KiB:size=1MB\""), ("connection", "paths = [\"last\"]"),
            ("connection", "receive_buffer = \"61KB\""), ("connection", "recovery = \"newreno\""),
            ("connection", "scheduler = \"single:path=1\""), ("connection", "path_manager = \"ndiffports:n=3\""),
            ("connection", "measured = false"), ("connection", "mptcp = false"), ("connection", "start = \"0.1s\""),
        ][..]), 0..12))
    {
        let section = |name: &str| {
            let mut chosen: Vec<&str> = lines.iter().filter(|(s, _)| *s == name).map(|(_, line)| *line).collect();
            chosen.sort_unstable();
            chosen.dedup();
            if chosen.iter().any(|line| line.starts_with("trace")) {
                chosen.retain(|line| !line.starts_with("rate"));
            }
            chosen.join("\n")
        };
        let text = with_path(&format!(
            "{}\n[[path]]\nname = \"last\"\n[[connection]]\n{}\n[[connection]]", section("path"), section("connection")
        ));
        let scenario = read(&text);
        prop_assert_eq!(read(&scenario.to_toml()), scenario);
    }
}
