//! Links and paths.

use super::*;
use pathweave_netsim::{Codel, GilbertElliott, Jitter, Loss, LossPosition, OnDown, Queue, QueueLimit, Reorder};
use pathweave_units::{Bitrate, Duration, Probability};

fn names(scenario: &Scenario, links: &[usize]) -> Vec<String> {
    links.iter().map(|i| scenario.links[*i].name.clone()).collect()
}

#[test]
fn settings_apply_both_ways_unless_a_direction_differs() {
    let scenario =
        read(&with_path("rate = \"8Mbps\"\ndelay = \"10ms\"\nloss = 0.01\ndown = { rate = \"unlimited\", loss = 0 }"));
    let [up, down] = [&scenario.links[0].settings, &scenario.links[1].settings];
    assert_eq!((up.delay, down.delay), (Duration::from_millis(10), Duration::from_millis(10)));
    assert_eq!((&up.shaper, &down.shaper), (&Rate::Constant(Bitrate::from_mbps(8)), &Rate::Unlimited));
    assert_eq!((up.loss, down.loss), (Loss::Bernoulli(Probability::new(0.01).expect("a probability")), Loss::None));
}

#[test]
fn names_are_made_where_none_is_written() {
    let scenario = read(&with_path("[[path]]"));
    assert_eq!(scenario.paths.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["path0", "path1"]);
    assert_eq!(names(&scenario, &[0, 1, 2, 3]), ["path0.up", "path0.down", "path1.up", "path1.down"]);
}

#[test]
fn every_link_setting_can_be_written() {
    let scenario = read(&with_path(
        "rate = { kind = \"token-bucket\", rate = \"8Mbps\", burst = \"3028B\" }\noverhead = 38\n\
         queue = \"codel:limit=150KB:ecn=false\"\njitter = \"normal:deviation=2ms\"\nkeep_order = false\n\
         reorder = \"1%:extra=5ms\"\nloss = \"gilbert-elliott:to_bad=1%:to_good=25%:loss_bad=60%\"\n\
         loss_position = \"before\"\nduplicate = \"0.1%\"\ncorrupt = 0.002\non_down = \"hold\"",
    ));
    let p = |x| Probability::new(x).expect("a probability");
    let expected = LinkSettings {
        shaper: Rate::TokenBucket { rate: Bitrate::from_mbps(8), burst_bytes: 3028 },
        overhead_bytes: 38,
        queue: Queue {
            limit: QueueLimit::Bytes(150_000),
            codel: Some(Codel { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false }),
        },
        delay: Duration::ZERO,
        jitter: Jitter::Normal { deviation: Duration::from_millis(2) },
        keep_order: false,
        reorder: Reorder { probability: p(0.01), extra: Duration::from_millis(5) },
        loss: Loss::GilbertElliott(GilbertElliott {
            to_bad: p(0.01),
            to_good: p(0.25),
            loss_good: p(0.0),
            loss_bad: p(0.6),
        }),
        loss_position: LossPosition::BeforeQueue,
        duplicate: p(0.001),
        corrupt: p(0.002),
        up: true,
        on_down: OnDown::Hold,
    };
    assert_eq!(scenario.links[0].settings, expected);
    assert_eq!(scenario.links[1].settings, expected);
}

#[test]
fn numbers_can_be_written_in_every_way_of_toml() {
    let settings = &read(&with_path("loss = 1e-3\noverhead = 0x26\ncorrupt = 0.000_5")).links[0].settings;
    let p = |x| Probability::new(x).expect("a probability");
    assert_eq!((settings.loss, settings.overhead_bytes, settings.corrupt), (Loss::Bernoulli(p(0.001)), 38, p(0.0005)));
}

#[test]
fn paths_tell_schedulers_their_cost_quota_and_priority() {
    let path = &read(&with_path("cost = 2.5\nquota = \"1GB\"\npriority = 3\nbackup = true")).paths[0];
    assert_eq!((path.cost, path.quota, path.priority, path.backup), (2.5, Some(1_000_000_000), 3, true));
}

#[test]
fn traces_are_files_or_made_up() {
    let scenario =
        read(&with_path("trace = \"dir/lte.down\"\n[path.down]\ntrace = \"cellular:mean_rate=12Mbps:seed=4\""));
    assert_eq!(scenario.links[0].settings.shaper, Rate::Trace(TraceSource::File("dir/lte.down".into())));
    let Rate::Trace(TraceSource::Cellular { model, seed }) = scenario.links[1].settings.shaper else {
        panic!("a made-up trace")
    };
    assert_eq!((model.mean_rate, seed), (Bitrate::from_mbps(12), Some(4)));
    assert_eq!(scenario.trace_files(), ["dir/lte.down"]);
}

#[test]
fn changes_come_by_time_and_direction() {
    let scenario = read(&with_path(
        "[[path.change]]\nat = \"5s\"\nrate = \"1Mbps\"\nloss = \"5%\"\ndirection = \"up\"\n\
         [[path.change]]\nat = \"2s\"\nup = false",
    ));
    let [up, down] = [&scenario.links[0].changes, &scenario.links[1].changes];
    let five = Duration::from_secs(5);
    let off = Change { at: Duration::from_secs(2), change: LinkChange::Up(false) };
    let rate = Change { at: five, change: LinkChange::Shaper(Rate::Constant(Bitrate::from_mbps(1))) };
    let loss =
        Change { at: five, change: LinkChange::Loss(Loss::Bernoulli(Probability::new(0.05).expect("a probability"))) };
    assert_eq!(*up, [off.clone(), rate, loss]);
    assert_eq!(*down, [off]);
}

#[test]
fn a_change_comes_again_until_the_end_of_the_run() {
    let times = |change: &str, overrides: &[(&str, &str)]| -> Vec<String> {
        let mut document = document(&with_path(&format!("[[path.change]]\n{change}\nrate = \"1Mbps\"")));
        overrides.iter().for_each(|(key, value)| document.set(key, value).expect("a setting"));
        let scenario = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("a scenario");
        assert_eq!(scenario.links[0].changes, scenario.links[1].changes);
        scenario.links[0].changes.iter().map(|change| change.at.to_string()).collect()
    };
    // The run ends at 5 s, and nothing that changes then has an effect.
    assert_eq!(times("at = \"1s\"\nevery = \"1s\"", &[]), ["1s", "2s", "3s", "4s"]);
    assert_eq!(times("every = \"1s\"\nat = \"1s\"", &[("duration", "5001ms")]).len(), 5);
    assert_eq!(times("at = \"2s\"\nevery = \"1ms\"", &[]).len(), 3000);
    assert_eq!(times("at = \"4s\"\nevery = \"1s\"", &[]), ["4s"]);
    assert_eq!(times("at = \"6s\"\nevery = \"1s\"", &[]), ["6s"], "one, of which the command warns");
}

#[test]
fn repeated_changes_keep_the_order_of_the_file_at_one_time() {
    let scenario = read(&with_path(
        "[[path.change]]\nat = \"1s\"\nevery = \"2s\"\nup = false\n\
         [[path.change]]\nat = \"2s\"\nevery = \"1s\"\nup = true",
    ));
    let told: Vec<_> = scenario.links[0].changes.iter().map(|c| (c.at.to_string(), c.change.clone())).collect();
    let up = |at: &str, up: bool| (at.to_owned(), LinkChange::Up(up));
    assert_eq!(told, [up("1s", false), up("2s", true), up("3s", false), up("3s", true), up("4s", true)]);
}

const SHARED: &str = r#"
format = 1
name = "shared"
duration = "5s"
[[node]]
name = "phone"
[[node]]
name = "router"
[[node]]
name = "server"
[[link]]
name = "wlan"
between = ["phone", "router"]
[[link]]
name = "lte"
between = ["router", "phone"]
[[link]]
name = "trunk"
between = ["router", "server"]
rate = "10Mbps"
[[path]]
name = "a"
links = ["wlan", "trunk"]
[[path]]
name = "b"
links = ["lte", "trunk"]
"#;

#[test]
fn long_form_paths_can_share_links() {
    let scenario = read(SHARED);
    assert_eq!(names(&scenario, &scenario.paths[0].up), ["wlan.up", "trunk.up"]);
    assert_eq!(names(&scenario, &scenario.paths[0].down), ["trunk.down", "wlan.down"]);
    // The link is written from the router to the phone, and used in the other direction.
    assert_eq!(names(&scenario, &scenario.paths[1].up), ["lte.down", "trunk.up"]);
    assert_eq!(names(&scenario, &scenario.paths[1].down), ["trunk.down", "lte.up"]);
    assert_eq!((scenario.paths[1].client, scenario.paths[1].server), (0, 2));
}

#[test]
fn long_form_mistakes_are_told() {
    let swap = |from: &str, to: &str| SHARED.replacen(from, to, 1);
    says(
        &swap("[\"wlan\", \"trunk\"]", "[\"wlan\", \"lan\"]"),
        "test.toml:23: links = lan; did you mean `wlan`? Allowed: wlan, lte, trunk",
    );
    says(
        &swap("[\"wlan\", \"trunk\"]", "[\"wlan\", \"trunk\", \"lte\"]"),
        "test.toml:23: links = lte: allowed: a link that begins at server",
    );
    says(&swap("[\"wlan\", \"trunk\"]", "[\"wlan\", \"wlan\"]"), "test.toml:23: links = wlan: allowed: each link once");
    says(
        &swap("[\"wlan\", \"trunk\"]", "[\"wlan\", \"lte\"]"),
        "test.toml:23: links = a list: allowed: links from a client to another node",
    );
    says(&swap("[\"wlan\", \"trunk\"]", "[]"), "test.toml:23: links = a list: allowed: at least one link");
    says(
        &swap("[\"phone\", \"router\"]", "[\"phone\", \"ruter\"]"),
        "test.toml:13: between = ruter; did you mean `router`? Allowed: phone, router, server",
    );
    says(
        &swap("[\"phone\", \"router\"]", "[\"phone\"]"),
        "test.toml:13: between = a list: allowed: two nodes such as [\"client\", \"router\"]",
    );
    says(
        &swap("links = [\"wlan\", \"trunk\"]", "links = [\"wlan\", \"trunk\"]\ndelay = \"5ms\""),
        "test.toml:24: unknown setting `delay`; there are: name, middlebox, links, cost, quota, priority, backup, \
         because this path has links by name; set link.wlan.delay and link.trunk.delay",
    );
    let long = read(&with_path("name = \"wifi\"\nrate = \"8Mbps\"")).to_toml();
    let mut document = document(&long);
    let wrong = document
        .set("path.wifi.rate", "5Mbps")
        .and_then(|()| document.scenario(&Registry::builtin(), &Variant::AsWritten));
    let error = wrong.expect_err("the link has the rate").to_string();
    assert!(error.ends_with("has links by name; set link.wifi.up.rate and link.wifi.down.rate"), "{error}");
}

#[test]
fn the_paths_of_a_connection_share_their_ends() {
    let text = SHARED.replacen("[\"lte\", \"trunk\"]", "[\"lte\"]", 1);
    says(&text, "test.toml:1: paths is missing: it takes paths that share their client and their server");
    says(
        &(text + "[[connection]]\npaths = [\"a\", \"b\"]"),
        "test.toml:28: paths = b: allowed: paths that share their client and their server",
    );
}

#[test]
fn middleboxes_stand_in_a_list_from_the_client_on() {
    let all = [
        "strip:on=third-ack:after=2s:direction=up",
        "strip:on=all:after=0s:direction=both",
        "isn",
        "nat",
        "nat:after=5s",
        "split:size=500B:options=first",
        "coalesce:size=4KB:wait=2ms:options=same",
        "edit:at=100KB:direction=down",
        "proactive-ack:delay=5ms:after=1s",
    ];
    let list = format!("middlebox = [{}]", all.map(|m| format!("\"{m}\"")).join(", "));
    let scenario = read(&with_path(&list));
    assert_eq!(scenario.paths[0].middleboxes.len(), all.len());
    let text = scenario.to_toml();
    assert!(text.contains(&list), "{text}");
    assert_eq!(read(&text), scenario);
    let shown = |s: &Scenario| s.paths[0].middleboxes.iter().map(|m| m.to_string()).collect::<Vec<_>>();
    let one = |lines: &str| shown(&read(&with_path(lines)));
    assert_eq!(one("middlebox = \"isn\""), ["isn"]);
    assert_eq!(one("middlebox = { kind = \"nat\", after = \"5s\" }"), one("middlebox = [\"nat:after=5s\"]"));
    assert!(one("middlebox = []").is_empty());
    let mut document = document(&with_path("name = \"a\""));
    document.set("path.a.middlebox", "isn, nat").expect("a right key");
    let set = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("a right scenario");
    assert_eq!(shown(&set), ["isn", "nat"]);
}

#[test]
fn wrong_middleboxes_are_told() {
    // An example of each middlebox, of which there may be more.
    let unknown = error_of(&with_path("middlebox = [\n\"isn\",\n\"firewall\"]")).to_string();
    let (told, allowed) = unknown.split_once(": allowed: ").expect("what is allowed");
    assert_eq!(told, "test.toml:7: middlebox = firewall");
    assert!(allowed.starts_with("strip:on=syn, isn, nat:after=5s, ") && allowed.contains(" or "), "{allowed}");
    says(
        &with_path("middlebox = \"strip:on=fin\""),
        "test.toml:5: middlebox.on = fin: allowed: all, syn, syn-ack, third-ack, first-data",
    );
    says(
        &with_path("middlebox = \"strip\""),
        "test.toml:5: middlebox.on = nothing: allowed: all, syn, syn-ack, third-ack, first-data",
    );
    says(
        &with_path("middlebox = \"split:size=1MB\""),
        "test.toml:5: middlebox.size = 1MB: allowed: a size from 1B to 60KB",
    );
    says(
        &with_path("middlebox = \"isn:at=3\""),
        "test.toml:5: unknown setting `middlebox.at`; there is nothing after the name",
    );
    says(
        &with_path("middlebox = \"proactive-ack:delay=0s\""),
        "test.toml:5: middlebox.delay = 0s: allowed: a time above zero such as 10ms or 1.5s",
    );
}
