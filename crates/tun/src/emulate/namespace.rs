//! The two namespaces, and the commands that run in them.

use crate::{Device, ip};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Most paths, which is the number of addresses that the kernel's Multipath TCP supports (`MPTCP_PM_ADDR_MAX`).
pub const MOST_PATHS: usize = 8;

/// The host to which a namespace belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// A path as seen from its namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathEnds {
    /// The name of the path's device in each namespace, at most 15 letters.
    pub device: String,
    /// Whether the path is a backup: the client's kernel uses it only if no other path works.
    pub backup: bool,
}

/// The addresses of the client and the server on a path: 10.0.P.1 and 10.0.P.2 for path number P, counted from 1.
///
/// An engine behind the client has 10.0.P.5, and the namespace's end of its TUN device is 10.0.P.6. An engine behind
/// the server has 10.0.P.9, with 10.0.P.10.
pub fn addresses(path: usize) -> (Ipv4Addr, Ipv4Addr) {
    let number = path as u8 + 1;
    (Ipv4Addr::new(10, 0, number, 1), Ipv4Addr::new(10, 0, number, 2))
}

/// The same for IPv6: fd00:0:0:P::1 and fd00:0:0:P::2. An engine's addresses end with 5 and 6 behind the client, and
/// with 9 and a behind the server.
fn addresses_of_ipv6(path: usize) -> (Ipv6Addr, Ipv6Addr) {
    let address = |end| Ipv6Addr::new(0xfd00, 0, 0, path as u16 + 1, 0, 0, 0, end);
    (address(1), address(2))
}

/// A network namespace, held by a thread that lives in it and starts commands there.
#[derive(Debug)]
pub struct Namespace {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

/// The words of a command, its input and output, and the channel for the answer.
type Request = (Vec<String>, [Stdio; 2], Sender<io::Result<Started>>);

impl Namespace {
    /// Makes the namespace with a device for each path. The namespace is gone when this value, its devices and its
    /// commands are dropped.
    ///
    /// # Errors
    /// If the namespace cannot be made, most often because of missing rights, or if there are more than [`MOST_PATHS`]
    /// paths.
    pub fn new(side: Side, paths: Vec<PathEnds>, mtu: u16) -> io::Result<(Self, Vec<Device>)> {
        let (requests, asked) = channel::<Request>();
        let (made, devices) = channel();
        let thread = std::thread::spawn(move || {
            let _ = made.send(enter(side, &paths, mtu));
            // Commands end with this thread, so the thread stays while it may get requests.
            while let Ok((words, [input, output], answer)) = asked.recv() {
                let _ = answer.send(Started::new(&words, input, output));
            }
        });
        let namespace = Namespace { requests: Some(requests), thread: Some(thread) };
        let devices = devices.recv().map_err(io::Error::other)??;
        Ok((namespace, devices))
    }

    /// Starts a command in the namespace. The variables `PATHWEAVE_CLIENT` and `PATHWEAVE_SERVER` tell the command the
    /// first path's addresses.
    ///
    /// # Errors
    /// If no process can be started. A command that does not exist ends with status 127 instead.
    pub fn start(&self, words: &[String], input: Stdio, output: Stdio) -> io::Result<Started> {
        let (answer, started) = channel();
        let Some(requests) = &self.requests else { return Err(io::Error::other("the namespace is gone")) };
        requests.send((words.to_vec(), [input, output], answer)).map_err(io::Error::other)?;
        started.recv().map_err(io::Error::other)?
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Moves this thread into a new network namespace, and makes its devices.
fn enter(side: Side, paths: &[PathEnds], mtu: u16) -> io::Result<Vec<Device>> {
    if paths.len() > MOST_PATHS {
        let message =
            format!("there are {} paths, and the kernel's Multipath TCP has {MOST_PATHS} at most", paths.len());
        return Err(io::Error::other(message));
    }
    move_into_new_namespace()?;
    ip("link set lo up")?;
    for setting in [
        "net.ipv4.ip_forward=1",
        "net.ipv4.conf.all.rp_filter=0",
        "net.ipv4.conf.default.rp_filter=0",
        "net.ipv6.conf.all.disable_ipv6=0",
        "net.ipv6.conf.default.disable_ipv6=0",
        "net.ipv6.conf.all.forwarding=1",
        // Hardly anything leaves by itself on the emulated paths: no device has an address of its own making. IPv6 reports groups twice.
        "net.ipv6.conf.default.addr_gen_mode=1",
    ] {
        sysctl(setting)?;
    }
    // A kernel without Multipath TCP still has TCP, and our engine.
    if std::fs::exists("/proc/sys/net/mptcp")? {
        ip("mptcp limits set subflows 8 add_addr_accepted 8")?;
    }
    let mut devices = Vec::new();
    for (path, ends) in paths.iter().enumerate() {
        let device = Device::create(&ends.device, mtu, false)?;
        device.wait_until_up()?;
        set_up(side, path, ends)?;
        devices.push(device);
    }
    Ok(devices)
}

/// Sets up the addresses and routes of a path. The server's packets to an address of the client leave on that address's
/// path. The client's packets leave on the path of their source address, because they may all go to the server's one
/// known address.
fn set_up(side: Side, path: usize, ends: &PathEnds) -> io::Result<()> {
    let PathEnds { device, backup } = ends;
    let (client, server) = addresses(path);
    let (client_v6, server_v6) = addresses_of_ipv6(path);
    let (own, own_v6) = if side == Side::Client { (client, client_v6) } else { (server, server_v6) };
    ip(&format!("link set {device} multicast off"))?;
    ip(&format!("address add {own}/24 dev {device}"))?;
    // A kernel without IPv6 still has the other.
    let has_ipv6 = std::fs::exists("/proc/sys/net/ipv6")?;
    if has_ipv6 {
        ip(&format!("address add {own_v6}/64 dev {device} nodad"))?;
    }
    if side == Side::Server {
        return Ok(());
    }
    let [a, b, c, _] = client.octets();
    let table = 100 + path;
    ip(&format!("route add default dev {device} table {table}"))?;
    ip(&format!("rule add from {a}.{b}.{c}.0/29 lookup {table} priority 20"))?;
    // To the engine behind the client, whichever path its packets have taken: before the rule above, which also holds for what the
    // server sends from its address of this path.
    ip(&format!("rule add to {a}.{b}.{c}.4/30 lookup main priority 10"))?;
    if has_ipv6 {
        let network = format!("fd00:0:0:{}::", path + 1);
        ip(&format!("-6 route add default dev {device} table {table}"))?;
        ip(&format!("-6 rule add from {network}/125 lookup {table} priority 20"))?;
        ip(&format!("-6 rule add to {network}4/126 lookup main priority 10"))?;
    }
    if path > 0 && std::fs::exists("/proc/sys/net/mptcp")? {
        let backup = if *backup { " backup" } else { "" };
        ip(&format!("mptcp endpoint add {client} dev {device} subflow{backup}"))?;
    }
    Ok(())
}

/// Moves this thread into a new network namespace. A helper process makes the namespace, because that call is not
/// available without `unsafe`.
pub(crate) fn move_into_new_namespace() -> io::Result<()> {
    let mut helper = Command::new("unshare");
    let helper = helper.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut helper = helper.spawn().map_err(|e| io::Error::new(e.kind(), format!("unshare (of util-linux): {e}")))?;
    // Once it echoes, it is in its namespace. It ends when its input does, which is also when this process ends.
    let entered = (|| {
        let (Some(input), Some(output)) = (&mut helper.stdin, &mut helper.stdout) else { return Ok(()) };
        input.write_all(b"x")?;
        output.read_exact(&mut [0])?;
        let namespace = File::open(format!("/proc/{}/ns/net", helper.id()))?;
        Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
    })();
    drop(helper.stdin.take());
    let status = helper.wait()?;
    match status.success() {
        true => entered,
        false => Err(io::Error::other("a network namespace cannot be made here: that needs root, or CAP_SYS_ADMIN")),
    }
}

fn sysctl(setting: &str) -> io::Result<()> {
    let output = Command::new("sysctl").args(["-eqw", setting]).stdin(Stdio::null()).output();
    let output = output.map_err(|e| io::Error::new(e.kind(), format!("sysctl (of procps): {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("sysctl {setting}: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

/// A command in a namespace. The command and all its descendants end when this value or its namespace is dropped, or
/// when this process ends.
#[derive(Debug)]
pub struct Started(Child);

impl Started {
    /// Starts `words` in this thread's network namespace, in a process namespace of its own.
    fn new(words: &[String], input: Stdio, output: Stdio) -> io::Result<Self> {
        let (client, server) = addresses(0);
        // The first makes this process's end that of `unshare`, and the second that of `unshare` the end of all.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
        command.args(words).stdin(input).stdout(output);
        command.env("PATHWEAVE_CLIENT", client.to_string()).env("PATHWEAVE_SERVER", server.to_string());
        let child = command.spawn();
        child.map(Started).map_err(|e| io::Error::new(e.kind(), format!("setpriv (of util-linux): {e}")))
    }

    /// The command's exit status, or `None` while it runs.
    ///
    /// # Errors
    /// If the system does not report the status.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
