//! Lists of names, completions, manual pages and version.

use crate::{folder, pathweave, stderr, stdout};

fn listed(what: &str) -> Vec<serde_json::Value> {
    let output = pathweave(&folder(&format!("list-{what}")), &["list", what, "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("it is a JSON array")
}

fn names(items: &[serde_json::Value]) -> Vec<&str> {
    items.iter().filter_map(|i| i["name"].as_str()).collect()
}

#[test]
fn schedulers_and_controllers_with_their_parameters() {
    let schedulers = listed("schedulers");
    for name in ["minrtt", "roundrobin", "redundant", "blest", "linux", "single"] {
        assert!(names(&schedulers).contains(&name), "{name} is missing");
    }
    let controllers = listed("controllers");
    for name in ["reno", "cubic", "lia", "olia"] {
        assert!(names(&controllers).contains(&name), "{name} is missing");
    }
    let mut parameters = 0;
    for item in schedulers.iter().chain(&controllers) {
        assert!(item["source"].as_str().is_some_and(|s| !s.is_empty()), "{item}");
        for parameter in item["parameters"].as_array().expect("a list") {
            parameters += 1;
            for key in ["name", "type", "unit", "default"] {
                assert!(parameter[key].is_string(), "{parameter}");
            }
        }
    }
    assert!(parameters > 0);
}

#[test]
fn scenarios_say_where_they_come_from() {
    let scenarios = listed("scenarios");
    let expected =
        ["wifi-lte", "wlan-3g", "wlan-wlan", "cp-asymmetric", "cp-symmetric", "ethernet-wifi", "rems-wifi-lte"];
    for name in expected {
        assert!(names(&scenarios).contains(&name), "{name} is missing");
    }
    assert!(scenarios.iter().all(|s| s["source"].as_str().is_some_and(|s| !s.is_empty())));
    assert!(scenarios.iter().all(|s| s["parameters"].is_array()));
}

#[test]
fn for_people_too() {
    let output = pathweave(&folder("list-text"), &["list", "schedulers"]);
    assert!(stdout(&output).contains("\nblest\n    "), "{}", stdout(&output));
}

#[test]
fn version_and_help() {
    let folder = folder("version");
    assert_eq!(stdout(&pathweave(&folder, &["--version"])), format!("pathweave {}\n", pathweave_runner::version()));
    let help = pathweave(&folder, &["compare", "--help"]);
    assert!(help.status.success());
    for option in ["--schedulers", "--seeds", "--set", "--jsonl", "--report", "--jobs"] {
        assert!(stdout(&help).contains(option), "{option} is missing");
    }
    assert_eq!(pathweave(&folder, &["compere"]).status.code(), Some(2));
}

#[test]
fn completions_and_manual() {
    let folder = folder("manual");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = pathweave(&folder, &["completions", shell]);
        assert!(output.status.success() && stdout(&output).contains("compare"), "{shell}");
    }
    let script = stdout(&pathweave(&folder, &["completions", "bash"]));
    for name in ["blest-kernel", "wlan-3g", "connection.congestion=balia"] {
        assert!(script.contains(name), "{name} is not offered");
    }
    assert!(pathweave(&folder, &["man", "pages"]).status.success());
    let page = std::fs::read_to_string(folder.join("pages/pathweave-compare.1")).expect("the page is there");
    assert!(page.contains("receive_buffer"));
}
