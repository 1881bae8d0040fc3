//! Settings of a connection, in the words of scenarios.

use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Document, PathMode, SchedulerSpec, Variant};
use pathweave_proto::config::ConnectionConfig;
use pathweave_runner::Failure;

/// A scenario; only its connection is used. The connection has the library's default settings, except for these:
///
/// * Buffers are large enough for fast links.
/// * All paths of the client join the server's one address, if the server announces no other.
/// * A silent peer is probed. Otherwise a client that only receives would wait without limit for a server that is gone.
const SCENARIO: &str = r#"
format = 1
name = "perf"
duration = "1s"
[[path]]
name = "any"
rate = "1Mbps"
delay = "1ms"
[[connection]]
name = "perf"
congestion = "cubic"
send_buffer = "16MiB"
receive_buffer = "auto 1MiB..16MiB"
join_initial_address = true
keep_alive = "15s"
path_mtu_discovery = "black-holes"
"#;

/// The effect of a setting of `[[connection]]` in `perf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    /// The connection gets the setting.
    Honoured,
    /// The setting is an error, for this reason.
    Refused(&'static str),
}

use Treatment::{Honoured, Refused};

/// Every key that `[[connection]]` may have in a scenario.
const TREATMENTS: &[(&str, Treatment)] = &[
    ("name", Refused("a connection with real packets has no name")),
    ("paths", Refused("--path or --auto says which paths there are")),
    ("count", Refused("perf makes one connection")),
    ("mptcp", Honoured),
    ("measured", Refused("the one connection is always measured")),
    ("start", Refused("the connection is opened at once")),
    ("start_spread", Refused("the connection is opened at once")),
    ("direction", Refused("use --reverse or --both")),
    ("workload", Refused("use --time, --bytes or --ping")),
    ("page", Refused("perf loads no web page")),
    ("scheduler", Refused("use --scheduler")),
    ("congestion", Honoured),
    ("send_buffer", Honoured),
    ("receive_buffer", Honoured),
    ("host", Honoured),
    ("send_buffer_tuning", Honoured),
    ("nagle", Honoured),
    ("pr", Honoured),
    ("failure_detection", Honoured),
    ("path_manager", Honoured),
    ("join_initial_address", Honoured),
    ("protect_initial_address", Honoured),
    ("path_mode", Honoured),
    ("max_subflows", Honoured),
    ("accepted_addresses", Honoured),
    ("accept_priorities", Honoured),
    ("accept_removals", Honoured),
    ("share_data_acks", Honoured),
    ("checksum", Honoured),
    ("keep_alive", Honoured),
    ("close_timeout", Honoured),
    ("mtu", Refused("use --mtu, which sets the TUN devices too")),
    ("path_mtu_discovery", Honoured),
    ("pacing", Honoured),
    ("initial_window", Honoured),
    ("min_rto", Honoured),
    ("max_rto", Honoured),
    ("timestamps", Honoured),
    ("window_scaling", Honoured),
    ("least_window_shift", Honoured),
    ("delayed_ack", Honoured),
    ("delayed_ack_timeout", Honoured),
    ("timer_tick", Honoured),
    ("quick_acks", Honoured),
    ("recovery", Honoured),
    ("prr", Honoured),
    ("limited_transmit", Honoured),
    ("restart_after_idle", Honoured),
    ("ecn", Honoured),
    ("max_retransmissions", Honoured),
    ("time_wait", Honoured),
];

/// Settings of a connection with real packets.
pub(crate) struct Settings {
    /// The engine's settings.
    pub(crate) config: ConnectionConfig,
    /// Whether all paths after the first are backups.
    pub(crate) backups: bool,
}

/// Builds the settings from this scheduler and these settings of connections.
///
/// # Errors
/// If the scheduler or a setting does not exist, if a value is not allowed, or if a setting has no meaning with real
/// packets.
pub(crate) fn settings(scheduler: &str, given: &[(String, String)], registry: &Registry) -> Result<Settings, Failure> {
    let spec = SchedulerSpec::parse(scheduler)?;
    spec.check(registry)?;
    let mut document = Document::parse("settings", SCENARIO)?;
    // A scheduler's entry may have settings of the connection too.
    let of_entry = spec.connection_settings(registry)?;
    of_entry.iter().chain(given.iter().map(|(key, _)| key)).try_for_each(|key| check(key))?;
    for (key, value) in given {
        document.set(&format!("connection.{key}"), value)?;
    }
    let scenario = document.scenario(registry, &Variant::Scheduler(spec))?;
    let Some(connection) = scenario.connections.first() else {
        return Err(Failure::Input("the settings describe no connection".into()));
    };
    let config = connection.config(registry).map_err(|e| Failure::Input(e.to_string()))?;
    Ok(Settings { config, backups: connection.path_mode == PathMode::Backup })
}

/// Refuses settings without a meaning for real packets.
///
/// # Errors
/// If the setting has no meaning with real packets.
fn check(key: &str) -> Result<(), Failure> {
    match TREATMENTS.iter().find(|(name, _)| *name == key) {
        Some((_, Refused(reason))) => {
            Err(Failure::Input(format!("the setting {key} has no meaning with real packets: {reason}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_lab::scenario::connection_keys;
    use pathweave_proto::config::ReceiveBuffer;
    use pathweave_units::Duration;
    use std::fmt::Debug;

    /// For each setting that is honoured, a value other than the default.
    const OTHERS: &[(&str, &str)] = &[
        ("mptcp", "false"),
        ("congestion", "lia"),
        ("send_buffer", "1MiB"),
        ("receive_buffer", "1MiB"),
        ("host", "linux"),
        ("send_buffer_tuning", "true"),
        ("nagle", "false"),
        ("pr", "true"),
        ("failure_detection", "linux"),
        ("path_manager", "fullmesh"),
        ("join_initial_address", "false"),
        ("protect_initial_address", "true"),
        ("path_mode", "backup"),
        ("path_mode", "single"),
        ("max_subflows", "3"),
        ("accepted_addresses", "3"),
        ("accept_priorities", "false"),
        ("accept_removals", "false"),
        ("share_data_acks", "false"),
        ("checksum", "true"),
        ("keep_alive", "1s"),
        ("close_timeout", "5s"),
        ("path_mtu_discovery", "probing"),
        ("pacing", "on"),
        ("initial_window", "4"),
        ("min_rto", "1s"),
        ("max_rto", "60s"),
        ("timestamps", "false"),
        ("window_scaling", "false"),
        ("least_window_shift", "7"),
        ("delayed_ack", "false"),
        ("delayed_ack_timeout", "100ms"),
        ("timer_tick", "4ms"),
        ("quick_acks", "0"),
        ("recovery", "sack"),
        ("prr", "false"),
        ("limited_transmit", "false"),
        ("restart_after_idle", "false"),
        ("ecn", "true"),
        ("max_retransmissions", "5"),
        ("time_wait", "1s"),
    ];

    fn with(given: &[(&str, &str)]) -> Result<Settings, Failure> {
        let given: Vec<_> = given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        settings("minrtt", &given, &Registry::builtin())
    }

    fn shown(settings: Result<Settings, Failure>) -> impl PartialEq + Debug {
        let settings = settings.expect("the settings are right");
        (format!("{:?}", settings.config), settings.backups)
    }

    #[test]
    fn every_setting_of_a_connection_is_in_the_table() {
        let names: Vec<&str> = TREATMENTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, connection_keys());
    }

    #[test]
    fn a_setting_is_honoured_or_refused_with_a_reason() {
        for (name, treatment) in TREATMENTS {
            let values: Vec<&str> = OTHERS.iter().filter(|(key, _)| key == name).map(|(_, value)| *value).collect();
            match treatment {
                Honoured => {
                    assert!(!values.is_empty(), "{name} has no other value here");
                    for value in values {
                        assert_ne!(shown(with(&[(name, value)])), shown(with(&[])), "{name} = {value} changes nothing");
                    }
                }
                Refused(reason) => match with(&[(name, "1")]) {
                    Err(Failure::Input(text)) => assert!(text.contains(name) && text.ends_with(reason), "{text}"),
                    _ => panic!("{name} is not refused"),
                },
            }
        }
    }

    #[test]
    fn so_is_one_in_a_schedulers_entry() {
        let entry = |text: &str| settings(text, &[], &Registry::builtin()).map(|settings| settings.backups);
        assert!(matches!(entry("minrtt:path_mode=backup"), Ok(true)));
        assert!(matches!(entry("minrtt:workload=bulk"), Err(Failure::Input(_))));
    }

    #[test]
    fn the_defaults_are_those_of_the_library_but_for_these() {
        let ours = with(&[]).expect("the settings are right").config.with_algorithms((), ());
        let library = ConnectionConfig {
            send_buffer: 16 << 20,
            receive_buffer: ReceiveBuffer::Auto { initial: 1 << 20, max: 16 << 20 },
            join_initial_address: true,
            keep_alive: Duration::from_secs(15),
            ..ConnectionConfig::new((), ())
        };
        assert_eq!(ours, library);
    }
}
