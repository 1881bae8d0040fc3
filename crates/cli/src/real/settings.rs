//! A connection's settings, in the words of scenarios.

use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Document, SchedulerSpec, Variant};
use pathweave_proto::config::ConnectionConfig;
use pathweave_runner::Failure;

/// A scenario of which only the connection counts. Its buffers are those of fast links.
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
"#;

/// The engine's settings with this scheduler and these settings of connections.
///
/// # Errors
/// Where there is no such scheduler or setting, or it does not take the value.
pub(crate) fn config(
    scheduler: &str,
    settings: &[(String, String)],
    registry: &Registry,
) -> Result<ConnectionConfig, Failure> {
    let spec = SchedulerSpec::parse(scheduler)?;
    spec.check(registry)?;
    let mut document = Document::parse("settings", SCENARIO)?;
    for (key, value) in settings {
        document.set(&format!("connection.{key}"), value)?;
    }
    let scenario = document.scenario(registry, &Variant::Scheduler(spec))?;
    let Some(connection) = scenario.connections.first() else {
        return Err(Failure::Input("the settings describe no connection".into()));
    };
    let config = connection.config(registry).map_err(|e| Failure::Input(e.to_string()))?;
    // A server that announces no further address is joined at the one that it has.
    Ok(ConnectionConfig { join_initial_address: true, ..config })
}
