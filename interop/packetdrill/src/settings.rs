//! The settings that scripts make with `sysctl` and `ip`, as settings of the engine.
//!
//! The command that runs packetdrill puts programs with these names first in the path. They only write their arguments
//! into a file, a line each (`PATHWEAVE_PACKETDRILL_LINES`), so that no script changes the machine.

use core::net::{IpAddr, Ipv4Addr};
use pathweave_algorithms::Registry;
use pathweave_proto::LocalAddress;
use pathweave_proto::config::{ConnectionConfig, LossRecovery, Pacing, ReceiveBuffer, TcpConfig};
use pathweave_proto::host::Host;
use pathweave_units::Duration;

/// Settings with which a connection is opened or accepted.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Linux's settings with the script's changes.
    pub(crate) config: ConnectionConfig,
    /// Addresses that are announced to peers (`ip mptcp endpoint add ADDRESS signal`).
    signals: Vec<IpAddr>,
    /// Addresses from which further subflows are opened (`... subflow`).
    subflows: Vec<IpAddr>,
    /// Number of announced addresses that are used (`ip mptcp limits set add_addr_accepted N`).
    accepted: u8,
    /// Whether a client asks for ECN. A server only answers.
    asks_for_ecn: bool,
}

impl Settings {
    /// The kernel's defaults on packetdrill's network, changed by each of the lines.
    ///
    /// # Panics
    /// Never: the algorithms are built in.
    pub(crate) fn new(lines: &str) -> Settings {
        let registry = Registry::builtin();
        let scheduler = registry.choose_scheduler("blest-kernel", &[]);
        let controller = registry.choose_controller("cubic", &[]);
        let mut config = ConnectionConfig::new(scheduler.expect("it is built in"), controller.expect("it is built in"));
        config.host = Host::Linux;
        config.join_initial_address = true;
        // What a kernel with 15 MiB at most offers: a window scale of 8.
        config.receive_buffer = ReceiveBuffer::Auto { initial: 65_535, max: 15 << 20 };
        config.tcp = TcpConfig {
            restart_after_idle: true,
            send_buffer_tuning: true,
            timer_tick: Duration::from_millis(1),
            ..TcpConfig::default()
        };
        let mut settings =
            Settings { config, signals: Vec::new(), subflows: Vec::new(), accepted: 0, asks_for_ecn: false };
        lines.lines().for_each(|line| settings.take(line));
        settings
    }

    fn take(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["sysctl", rest @ ..] => {
                let text = rest.iter().filter(|w| !w.starts_with('-')).copied().collect::<Vec<_>>().join(" ");
                // One call may set several; values may have blanks.
                let mut name: Option<&str> = None;
                for word in text.split(' ') {
                    if let Some((n, value)) = word.split_once('=') {
                        name = Some(n);
                        self.set(n, value);
                    } else if let Some(name) = name {
                        self.set(name, word);
                    }
                }
            }
            ["ip", "mptcp", "endpoint", "flush"] => {
                self.signals.clear();
                self.subflows.clear();
            }
            ["ip", "mptcp", "endpoint", "add", address, flags @ ..] => {
                if let Ok(address) = address.parse() {
                    let list = if flags.contains(&"signal") { &mut self.signals } else { &mut self.subflows };
                    list.push(address);
                }
            }
            ["ip", "mptcp", "limits", "set", limits @ ..] => {
                for pair in limits.chunks_exact(2) {
                    match (pair[0], pair[1].parse()) {
                        ("add_addr_accepted", Ok(number)) => self.accepted = number,
                        ("subflows", Ok(number)) => self.config.max_subflows = 1u8.saturating_add(number),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Sets a sysctl by its name, `net.ipv4.tcp_sack` or as a path in `/proc/sys`. Of a list, the last number counts.
    fn set(&mut self, name: &str, value: &str) {
        let name = name.trim_start_matches("/proc/sys/").replace('/', ".");
        let Ok(number) = value.trim_matches('"').parse::<u64>() else {
            if name == "net.ipv4.tcp_congestion_control"
                && let Ok(controller) = Registry::builtin().choose_controller(value, &[])
            {
                self.config.congestion = controller;
            }
            return;
        };
        let on = number != 0;
        match name.as_str() {
            "net.ipv4.tcp_timestamps" => self.config.tcp.timestamps = on,
            "net.ipv4.tcp_window_scaling" => self.config.tcp.window_scaling = on,
            "net.ipv4.tcp_sack" if !on => self.config.tcp.recovery = LossRecovery::NewReno,
            "net.ipv4.tcp_recovery" if self.config.tcp.recovery != LossRecovery::NewReno => {
                self.config.tcp.recovery = if on { LossRecovery::RackTlp } else { LossRecovery::Sack };
            }
            "net.ipv4.tcp_ecn" => (self.config.tcp.ecn, self.asks_for_ecn) = (on, number == 1),
            "net.ipv4.tcp_slow_start_after_idle" => self.config.tcp.restart_after_idle = on,
            "net.ipv4.tcp_retries2" => self.config.tcp.max_retransmissions = number as u32,
            "net.ipv4.tcp_rmem" => {
                self.config.receive_buffer = ReceiveBuffer::Auto { initial: 65_535.min(number), max: number };
            }
            "net.ipv4.tcp_wmem" => self.config.send_buffer = number,
            "net.mptcp.checksum_enabled" => self.config.checksum = on,
            "net.mptcp.allow_join_initial_addr_port" => self.config.protect_initial_address = !on,
            _ => {}
        }
    }

    /// The settings of a socket that connects.
    pub(crate) fn client_config(&self, multipath: bool) -> ConnectionConfig {
        let mut config = self.config(multipath);
        config.tcp.ecn &= self.asks_for_ecn;
        config
    }

    /// The settings of a socket that listens.
    pub(crate) fn config(&self, multipath: bool) -> ConnectionConfig {
        let mut config = self.config.clone();
        config.mptcp = multipath;
        config.tcp.pacing = Pacing::Off;
        config.keep_alive = Duration::ZERO;
        config
    }

    /// The addresses that a listener's connections have beside `local`: those that are announced.
    pub(crate) fn served(&self, local: IpAddr) -> Vec<LocalAddress> {
        with(local, &self.signals)
    }

    /// The addresses that a client's connections have: those that open subflows.
    pub(crate) fn opened(&self, local: IpAddr) -> Vec<LocalAddress> {
        with(local, &self.subflows)
    }

    /// The machine's own address, as packetdrill tells scripts.
    pub(crate) fn own_address() -> IpAddr {
        let given = std::env::var("OPT_LOCAL_IP").ok().and_then(|text| text.parse().ok());
        given.unwrap_or(IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)))
    }
}

fn with(first: IpAddr, others: &[IpAddr]) -> Vec<LocalAddress> {
    let all = [first].into_iter().chain(others.iter().copied().filter(|a| *a != first));
    all.map(|address| LocalAddress { address, meta: Default::default() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_script_become_settings() {
        let lines = "sysctl -q net.ipv4.tcp_rmem=4096 540000 1000000\nsysctl -q net.ipv4.tcp_early_retrans=4 \
                     net.ipv4.tcp_recovery=0\nsysctl /proc/sys/net/ipv4/tcp_timestamps=0\nip mptcp endpoint flush\n\
                     ip mptcp endpoint add 10.0.0.2 signal\nip mptcp limits set add_addr_accepted 8 subflows 3\n";
        let settings = Settings::new(lines);
        assert_eq!(settings.config.receive_buffer, ReceiveBuffer::Auto { initial: 65_535, max: 1_000_000 });
        assert_eq!(settings.config.tcp.recovery, LossRecovery::Sack);
        assert!(!settings.config.tcp.timestamps);
        assert_eq!((settings.config.max_subflows, settings.accepted), (4, 8));
        let local = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        let addresses = |list: Vec<LocalAddress>| list.iter().map(|a| a.address.to_string()).collect::<Vec<_>>();
        assert_eq!(addresses(settings.served(local)), ["10.0.0.1", "10.0.0.2"]);
        assert_eq!(addresses(settings.opened(local)), ["10.0.0.1"]);
    }
}
