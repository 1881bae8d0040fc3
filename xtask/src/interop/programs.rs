//! Common programs over the kernel's Multipath TCP (`mptcpize run`), to a server behind the engine. A proxy
//! (`crates/tun/examples/proxy.rs`) forwards their data to nginx, Python's http.server or iperf3 over plain TCP.

use super::OverLinks;
use super::trial::{Trial, address, engine_paths};
use crate::run::{program, target, works};
use std::fmt;
use std::fs;

const LINK: &str = "rate = \"20Mbps\"\ndelay = \"10ms\"\nqueue = \"100packets\"";
const SECONDS: u32 = 60;
/// Bytes of the file.
const BYTES: usize = 2 << 20;
/// The proxy's port, and that of the server behind it.
const PORT: u16 = 8080;
const SERVER_PORT: u16 = 8000;
const HTTP_SERVER: &str = include_str!("backend.py");
/// A client whose SYNs have data.
const FAST_OPEN: &str = include_str!("fast_open.py");
/// Number of connections that this client makes.
const FAST_OPENS: u32 = 10;
/// Counter of a client kernel for connections that fall back after the data of their SYN was not accepted, as with a
/// kernel as the server (RFC 8684 §3.1).
const FALLS_BACK: &str = "MPCapableDataFallback";
/// nginx without anything of its own outside of the folder.
const NGINX: &str = "daemon off; pid nginx.pid; user root; worker_processes 1; events {}\n\
                     http { access_log off; server { listen 127.0.0.1:PORT; root FOLDER; } }\n";

/// Kinds of trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The client downloads a file as `out`.
    Get,
    /// The same from nginx.
    GetFromNginx,
    /// The client uploads a file, which the server keeps as `put`.
    Put,
    Iperf3,
    /// The client uploads files, each on a connection of its own with data in its SYN: without a cookie, or with a
    /// request for one instead.
    FastOpen {
        cookie: bool,
    },
}

/// A program with its arguments; `URL` and `SERVER` stand for the server's address.
pub(super) struct Program {
    kind: Kind,
    command: &'static str,
}

/// All programs.
pub(super) fn all() -> Vec<Program> {
    let with_nginx = works(&mut program("nginx", "-v"));
    if !with_nginx {
        println!("SKIPPED: curl to nginx, which is not installed");
    }
    let program = |kind, command| Program { kind, command };
    let mut all = vec![
        program(Kind::Get, "curl -sS --fail --output out URL/data"),
        program(Kind::Get, "wget --no-verbose --tries=1 --output-document=out URL/data"),
        program(Kind::Put, "curl -sS --fail --upload-file data URL/put"),
        program(Kind::Iperf3, "iperf3 SERVER --bytes 2M"),
        program(Kind::Iperf3, "iperf3 SERVER --bytes 2M --reverse"),
        program(Kind::Iperf3, "iperf3 SERVER --time 2 --bidir"),
        program(Kind::FastOpen { cookie: false }, "python3 fast_open.py ADDRESS"),
        program(Kind::FastOpen { cookie: true }, "python3 fast_open.py ADDRESS"),
    ];
    all.extend(with_nginx.then(|| program(Kind::GetFromNginx, "curl -sS --fail --output out URL/data")));
    all
}

impl Kind {
    /// The wrapper that makes a program use Multipath TCP.
    fn wrapper(self) -> &'static str {
        if matches!(self, Kind::FastOpen { .. }) { "" } else { "mptcpize run " }
    }

    /// The server behind the engine, and the number of connections that a client makes.
    fn server(self) -> (String, u32) {
        match self {
            Kind::Get | Kind::Put => (format!("python3 backend.py {SERVER_PORT}"), 1),
            Kind::FastOpen { .. } => (format!("python3 backend.py {SERVER_PORT}"), FAST_OPENS),
            Kind::GetFromNginx => ("nginx -p . -c nginx.conf -e nginx.err".into(), 1),
            Kind::Iperf3 => (format!("iperf3 --server --one-off --port {SERVER_PORT}"), 2),
        }
    }
}

impl OverLinks for Program {
    fn trial(&self, name: String) -> Trial {
        let proxy = target().join("debug/examples/proxy");
        let (server, mut connections) = self.kind.server();
        connections += u32::from(self.command.contains("--bidir"));
        let paths = engine_paths(false, &[true, true]).join(" ");
        let is_there = format!("until ss -Hltn sport = :{SERVER_PORT} | grep -q .; do sleep 0.05; done");
        let engine = format!(
            "{{ {server} >backend.out 2>&1 & {is_there}; {} {PORT} 127.0.0.1:{SERVER_PORT} {paths} --connections {connections} \
             --pcap engine.pcapng; }}",
            proxy.display()
        );
        let address = address(true, 0, 9);
        let command = self.command.replace("URL", &format!("http://{address}:{PORT}"));
        let command = command.replace("SERVER", &format!("--client {address} --port {PORT}"));
        let command = command.replace("ADDRESS", &format!("{address} {PORT} {FAST_OPENS}"));
        let before = match self.kind {
            Kind::FastOpen { cookie } => {
                vec![format!("sysctl -qw net.ipv4.tcp_fastopen={}", if cookie { 1 } else { 5 })]
            }
            _ => Vec::new(),
        };
        let same = match self.kind {
            Kind::Get | Kind::GetFromNginx => " && cmp data out",
            Kind::Put => " && cmp data put",
            Kind::Iperf3 | Kind::FastOpen { .. } => "",
        };
        Trial {
            paths: vec![LINK.to_owned(); 2],
            before,
            engine,
            kernel: format!("sh -c '{}{command}{same}'", self.kind.wrapper()),
            ..Trial::new(name, SECONDS)
        }
    }

    fn run(&self, trial: &Trial) -> Result<(), String> {
        trial.prepare()?;
        let file = |name: &str, bytes: &[u8]| {
            let path = trial.folder().join(name);
            fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))
        };
        file("backend.py", HTTP_SERVER.as_bytes())?;
        file("fast_open.py", FAST_OPEN.as_bytes())?;
        let folder = trial.folder().display().to_string();
        file("nginx.conf", NGINX.replace("PORT", &SERVER_PORT.to_string()).replace("FOLDER", &folder).as_bytes())?;
        // Bytes that repeat only after a prime number of them.
        file("data", &(0..BYTES).map(|i| (i % 65_521 % 251) as u8).collect::<Vec<u8>>())?;
        let found = trial.run()?;
        // iperf3 ends its streams at once, whatever is on its way, on both sides.
        let allowed: &[&str] = match self.kind {
            Kind::Iperf3 => &["MPFastcloseRx"],
            Kind::FastOpen { cookie: false } => &[FALLS_BACK],
            _ => &[],
        };
        found.counters.nothing_wrong_but(allowed)?;
        if self.kind != Kind::Iperf3 && found.server.contains("failed") {
            return Err(format!("the proxy: {}", found.server));
        }
        let fell_back = found.counters.of(FALLS_BACK);
        if self.kind == (Kind::FastOpen { cookie: false }) {
            // Otherwise no SYN had data.
            return match fell_back == u64::from(FAST_OPENS) {
                true => Ok(()),
                false => Err(format!("{fell_back} of {FAST_OPENS} connections fell back")),
            };
        }
        let (connected, joined) = (found.counters.of("MPCapableSYNACKRX"), found.counters.joined());
        let (_, connections) = self.kind.server();
        if connected < u64::from(connections) || joined == 0 {
            return Err(format!("{connected} connections over Multipath TCP, {joined} joins"));
        }
        Ok(())
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_kind = match self.kind {
            Kind::GetFromNginx => " (nginx)",
            Kind::FastOpen { cookie: false } => " (data in the SYN)",
            Kind::FastOpen { cookie: true } => " (a cookie asked for in the SYN)",
            _ => "",
        };
        write!(f, "{}{}{of_kind}", self.kind.wrapper(), self.command)
    }
}
