//! Effects of schedulers and baselines on a scenario, and the engine's settings.

use super::*;
use crate::scenario::setting::CONNECTION;
use pathweave_proto::config::{
    ConnectionConfig, FailureDetection, LossRecovery, Pacing, PathManager, PathMtuDiscovery, ReceiveBuffer, TcpConfig,
};
use pathweave_proto::host::Host;
use pathweave_units::{Bitrate, Duration};
use std::sync::Arc;

#[track_caller]
fn connection(text: &str, variant: &Variant) -> Connection {
    let scenario = document(text).scenario(&Registry::builtin(), variant);
    scenario.expect("the scenario is right").connections.swap_remove(0)
}

#[test]
fn a_scheduler_entry_overrides_settings() {
    let c = connection(&with_path(""), &scheduler("single:pr=true:receive_buffer=60KB:path=1"));
    assert!(c.engine.pr);
    assert_eq!(c.engine.receive_buffer, ReceiveBuffer::Fixed(60_000));
    assert_eq!(c.engine.scheduler.to_string(), "single:path=1");
    assert_eq!(scheduler("single:pr=true").label(), "single:pr=true");
}

#[test]
fn parameters_are_told_with_their_defaults() {
    let parameters = connection(&with_path(""), &scheduler("single:path=1")).scheduler_parameters(&Registry::builtin());
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(parameters.into_iter().collect::<Vec<_>>(), [pair("path", "1"), pair("patience", "1s")]);
}

#[test]
fn the_files_scheduler_takes_settings_too() {
    let c = connection(&with_connection("scheduler = \"single:pr=true\""), &Variant::AsWritten);
    assert!(c.engine.pr);
    assert_eq!(c.engine.scheduler.to_string(), "single");
}

#[test]
fn the_entrys_own_settings_come_after_the_files_table() {
    let text = with_path("[scheduler.single]\npr = true\nprr = false\npath = 2\npatience = \"3s\"");
    let c = connection(&text, &scheduler("single:pr=false:path=1"));
    assert!(!c.engine.pr && !c.engine.tcp.prr);
    assert_eq!(c.engine.scheduler.to_string(), "single:path=1:patience=3s");
    let c = connection(&text, &scheduler("minrtt"));
    assert!(!c.engine.pr && c.engine.tcp.prr);
}

#[test]
fn neither_failure_detection_nor_a_schedulers_name_changes_the_host() {
    let host = |text: &str, entry: &str| {
        let c = connection(text, &scheduler(entry));
        (c.host, c.config(&Registry::builtin()).expect("the registry is the same").host)
    };
    assert_eq!(host(&with_path(""), "linux"), (HostModel::Rfc, Host::Rfc));
    assert_eq!(host(&with_connection("failure_detection = \"linux\""), "minrtt"), (HostModel::Rfc, Host::Rfc));
    assert_eq!(host(&with_connection("host = \"linux\""), "minrtt"), (HostModel::Linux, Host::Linux));
    assert_eq!(host(&with_path(""), "minrtt:host=linux"), (HostModel::Linux, Host::Linux));
    let org = with_connection("host = \"mptcp-0.9x\"");
    assert_eq!(host(&org, "minrtt"), (HostModel::MptcpOrg, Host::MptcpOrg));
}

/// These settings do not change the plain host into another one.
#[test]
fn the_clock_and_the_tuning_of_the_send_buffer_are_settings_of_every_host() {
    for model in HostModel::ALL {
        let name = serde_json::to_value(model).expect("a word");
        let lines = format!("host = {name}\nsend_buffer_tuning = true\ntimer_tick = \"4ms\"");
        let c = connection(&with_connection(&lines), &scheduler("minrtt"));
        let config = c.config(&Registry::builtin()).expect("the registry is the same");
        assert_eq!((c.host, config.host), (model, model.into()));
        assert_eq!((config.tcp.send_buffer_tuning, config.tcp.timer_tick), (true, Duration::from_millis(4)));
    }
}

#[test]
fn failures_are_detected_as_the_setting_says_and_not_as_the_schedulers_name_does() {
    let detection = |text: &str, entry: &str| connection(text, &scheduler(entry)).engine.failure_detection;
    assert_eq!(detection(&with_path(""), "linux"), FailureDetection::Fast);
    assert_eq!(detection(&with_path(""), "minrtt"), FailureDetection::Fast);
    assert_eq!(detection(&with_path(""), "linux:failure_detection=linux"), FailureDetection::Linux);
    let table = "[scheduler.linux]\nfailure_detection = \"linux\"";
    assert_eq!(detection(&with_path(table), "linux"), FailureDetection::Linux);
    assert_eq!(detection(&with_connection("failure_detection = \"fast\""), "linux"), FailureDetection::Fast);
    let mut document = builtin("wlan-3g").expect("it is there");
    let pinned = document.scenario(&Registry::builtin(), &scheduler("linux")).expect("right");
    assert_eq!(
        (pinned.connections[0].engine.failure_detection, pinned.connections[0].engine.pr),
        (FailureDetection::Linux, false)
    );
    document.set("connection.failure_detection", "fast").expect("there is such a key");
    let set = document.scenario(&Registry::builtin(), &scheduler("linux")).expect("right");
    assert_eq!(set.connections[0].engine.failure_detection, FailureDetection::Fast);
}

#[test]
fn only_measured_mptcp_connections_get_the_scheduler() {
    let text = with_path(
        "[[connection]]\nscheduler = \"single\"\n[[connection]]\nmptcp = false\n[[connection]]\nmeasured = false",
    );
    let scenario = document(&text).scenario(&Registry::builtin(), &scheduler("linux")).expect("right");
    let names: Vec<_> = scenario.connections.iter().map(|c| (c.engine.scheduler.name.as_str(), c.measured)).collect();
    assert_eq!(names, [("linux", true), ("minrtt", false), ("minrtt", false)]);
}

#[test]
fn plain_tcp_alone_is_measured() {
    let c = connection(&with_connection("mptcp = false"), &scheduler("linux"));
    assert!(c.measured);
    assert_eq!(c.engine.scheduler.name, "minrtt");
}

#[test]
fn baselines_are_plain_tcp_with_the_same_controller_and_buffers() {
    let text =
        with_path("[[path]]\n[[connection]]\ncongestion = \"cubic\"\nsend_buffer = \"1MB\"\nreceive_buffer = \"60KB\"");
    for path in [0, 1] {
        let c = connection(&text, &Variant::PlainTcp(path));
        assert!(!c.engine.mptcp && c.measured);
        assert_eq!(
            (c.paths, c.engine.scheduler.name, c.engine.congestion.name),
            (vec![path], "single".into(), "cubic".into())
        );
        assert_eq!((c.engine.send_buffer, c.engine.receive_buffer), (1_000_000, ReceiveBuffer::Fixed(60_000)));
    }
    assert_eq!(Variant::PlainTcp(1).label(), "tcp-path1");
    assert_eq!(read(&text).baselines(), 2);
}

#[test]
fn wrong_entries_are_told() {
    let error = |text: &str| {
        let checked = SchedulerSpec::parse(text).and_then(|spec| spec.check(&Registry::builtin()));
        checked.expect_err("the entry is wrong").to_string()
    };
    assert_eq!(error("minrtt:pr"), "--schedulers: minrtt:pr: pr = nothing: allowed: key=value between colons");
    assert_eq!(error("minrtt:pr=2"), "--schedulers: minrtt:pr=2: pr = 2: allowed: true or false");
    assert_eq!(error("single:path=x"), "--schedulers: single:path=x: path = x: allowed: a whole number from 0 to 31");
    assert_eq!(
        error("minrtt:pr=true:pr=true"),
        "--schedulers: minrtt:pr=true:pr=true: pr = true: allowed: each key once"
    );
    assert!(
        error("mintt").starts_with("--schedulers: unknown scheduler `mintt`; did you mean `minrtt`? Allowed: minrtt, ")
    );
    assert!(
        error("single:x=1")
            .starts_with("--schedulers: single:x=1: unknown setting `x`; there are: path, patience, mptcp, ")
    );
    assert!(error("").starts_with("--schedulers: scheduler = : allowed: a name"));
    let wrong = spec("minrtt:pr=2").check(&Registry::builtin()).expect_err("the entry is wrong");
    assert_eq!(wrong.columns(), 8..12);
    let text = with_path("");
    let result = document(&text).scenario(&Registry::builtin(), &scheduler("minrtt:mtu=1"));
    assert_eq!(
        result.expect_err("the entry is wrong").to_string(),
        "--schedulers: minrtt:mtu=1: mtu = 1: allowed: a whole number from 576 to 65535"
    );
}

#[test]
fn all_is_the_registry() {
    let all: Vec<_> = SchedulerSpec::all(&Registry::builtin()).into_iter().map(|s| s.text).collect();
    let names: Vec<_> = Registry::builtin().schedulers().iter().map(|factory| factory.name().to_owned()).collect();
    assert_eq!(all, names);
}

#[test]
fn every_setting_of_the_engine_can_be_written() {
    let lines = "mptcp = false\nstart = \"1s\"\nstart_spread = \"2s\"\ndirection = \"download\"\nworkload = \"transfer:size=64MiB\"\n\
        scheduler = \"single:path=1\"\ncongestion = \"cubic\"\nsend_buffer = \"1MB\"\n\
        receive_buffer = \"auto 1KB..2KB\"\n\
        pr = true\nhost = \"linux\"\n\
        failure_detection = \"linux\"\npath_manager = \"ndiffports:n=2\"\npath_mode = \"backup\"\nmax_subflows = 3\naccepted_addresses = 2\naccept_priorities = false\naccept_removals = false\nshare_data_acks = false\n\
        checksum = true\nclose_timeout = \"5s\"\nmtu = 1400\ninitial_window = 4\nmin_rto = \"1s\"\nmax_rto = \"60s\"\n\
        timestamps = false\nwindow_scaling = false
least_window_shift = 3\ndelayed_ack = false\ndelayed_ack_timeout = \"25ms\"\ntimer_tick = \"4ms\"\n\
        quick_acks = 0\npage = \"p\"\n\
        recovery = \"newreno\"\nprr = false\nlimited_transmit = false\nrestart_after_idle = false\necn = true\n\
        max_retransmissions = 7\ntime_wait = \"30s\"\nmeasured = true\nnagle = false\nsend_buffer_tuning = true\njoin_initial_address = true\nprotect_initial_address = true\n\
        keep_alive = \"30s\"\npath_mtu_discovery = \"black-holes\"\npacing = \"on:limit=9Mbps\"";
    assert_eq!(lines.lines().count(), CONNECTION.len());
    let c = connection(&with_connection(lines), &Variant::AsWritten);
    assert_eq!((c.start, c.start_spread), (Duration::from_secs(1), Duration::from_secs(2)));
    assert_eq!((c.direction, c.path_mode), (Direction::Download, PathMode::Backup));
    assert_eq!(c.workload, Workload::Transfer { size: 64 << 20 });
    assert_eq!(c.page, "p");
    // No `..`: a new field of the engine needs a setting.
    let ConnectionConfig {
        mptcp,
        tcp,
        scheduler,
        congestion,
        send_buffer,
        receive_buffer,
        nagle,
        host,
        single_path,
        pr,
        failure_detection,
        path_manager,
        join_initial_address,
        protect_initial_address,
        keep_alive,
        checksum,
        close_timeout,
        max_subflows,
        accepted_addresses,
        accept_priorities,
        accept_removals,
        share_data_acks,
    } = c.config(&Registry::builtin()).expect("the registry is the same");
    assert!(!mptcp && !nagle && !single_path && pr && join_initial_address && protect_initial_address && checksum);
    assert_eq!(
        (scheduler.factory().name(), scheduler.values().integer("path"), congestion.factory().name()),
        ("single", 1, "cubic")
    );
    assert_eq!((send_buffer, receive_buffer), (1_000_000, ReceiveBuffer::Auto { initial: 1000, max: 2000 }));
    assert_eq!((failure_detection, path_manager), (FailureDetection::Linux, PathManager::NDiffPorts(2)));
    assert_eq!((close_timeout, max_subflows, accepted_addresses), (Duration::from_secs(5), 3, 2));
    assert!(!accept_priorities && !accept_removals && !share_data_acks);
    assert_eq!(keep_alive, Duration::from_secs(30));
    assert_eq!(host, Host::Linux);
    let expected = TcpConfig {
        send_buffer_tuning: true,
        timer_tick: Duration::from_millis(4),
        least_window_shift: 3,
        mtu: 1400,
        path_mtu_discovery: PathMtuDiscovery::BlackHoles,
        pacing: Pacing::On { limit: Some(Bitrate::from_mbps(9)), horizon: Duration::ZERO },
        initial_window: 4,
        min_rto: Duration::from_secs(1),
        max_rto: Duration::from_secs(60),
        timestamps: false,
        window_scaling: false,
        delayed_ack: false,
        delayed_ack_timeout: Duration::from_millis(25),
        quick_acks: 0,
        recovery: LossRecovery::NewReno,
        prr: false,
        limited_transmit: false,
        restart_after_idle: false,
        ecn: true,
        max_retransmissions: 7,
        time_wait: Duration::from_secs(30),
        // A setting of devices. The simulator has none.
        packet_memory: TcpConfig::default().packet_memory,
    };
    assert_eq!(tcp, expected);
}

#[test]
fn sized_workloads_need_no_duration() {
    let text = "format = 1\nname = \"x\"\n[[path]]\n[[connection]]\nworkload = \"transfer:size=1MB\"";
    let scenario = read(text);
    assert!(scenario.ends_with_data());
    assert_eq!(scenario.duration, Duration::from_secs(600));
    let cbr = "cbr:rate=1Mbps:message=5KiB";
    let workload = Workload::Messages { rate: Bitrate::from_mbps(1), message: 5120, gaps: Gaps::Even, size: None };
    assert_eq!(connection(&with_connection(&format!("workload = \"{cbr}\"")), &Variant::AsWritten).workload, workload);
}

#[test]
fn backups_are_declared_by_path_or_by_mode() {
    let backups = |text: &str| {
        let scenario = read(text);
        let c = &scenario.connections[0];
        (0..c.paths.len()).map(|i| c.is_backup(i, &scenario.paths)).collect::<Vec<_>>()
    };
    assert_eq!(backups(&with_path("backup = true\n[[path]]")), [true, false]);
    assert_eq!(backups(&with_path("[[path]]\n[[connection]]\npath_mode = \"backup\"")), [false, true]);
}

#[test]
fn a_small_registry_reads_the_builtin_scenarios() {
    let full = Registry::builtin();
    let mut small = Registry::empty().with_scheduler(Arc::clone(full.scheduler("minrtt").expect("it is there")));
    for factory in full.controllers() {
        small = small.with_controller(Arc::clone(factory));
    }
    for (name, _) in BUILTIN {
        assert!(builtin(name).expect("it is there").scenario(&small, &Variant::AsWritten).is_ok());
    }
}
