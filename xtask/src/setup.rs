//! Installs what the checks need and is missing.

use crate::run::{cargo, program, run, works};
use std::path::Path;
use std::process::Command;

const WASM: &str = "wasm32-unknown-unknown";

/// rustfmt, Clippy, the WebAssembly target, Node.js, Valgrind and tshark. Chromium is looked for where a page is opened.
///
/// # Errors
/// What is missing and cannot be installed.
pub(crate) fn install() -> Result<(), String> {
    for (component, name) in [("rustfmt", "fmt"), ("clippy", "clippy")] {
        if !works(&mut cargo(&format!("{name} --version"))) {
            rustup(&format!("component add {component}"))?;
        }
    }
    if !has_wasm() {
        rustup(&format!("target add {WASM}"))?;
    }
    if node().is_err() {
        apt("nodejs")?;
        node()?;
    }
    if !works(&mut program("valgrind", "--version")) {
        apt("valgrind")?;
    }
    tshark()?;
    println!("rustfmt, Clippy, {WASM}, Node.js, Valgrind and tshark are there");
    Ok(())
}

/// tshark, which reads captures.
///
/// # Errors
/// If it is missing and cannot be installed.
pub(crate) fn tshark() -> Result<(), String> {
    if works(&mut program("tshark", "--version")) { Ok(()) } else { apt("tshark") }
}

/// ping and iperf3, which measure emulated paths.
///
/// # Errors
/// If they are missing and cannot be installed.
pub(crate) fn emulation() -> Result<(), String> {
    if !works(&mut program("ping", "-V")) {
        apt("iputils-ping")?;
    }
    if works(&mut program("iperf3", "--version")) { Ok(()) } else { apt("iperf3") }
}

/// nft, which translates addresses.
///
/// # Errors
/// If it is missing and cannot be installed.
pub(crate) fn nft() -> Result<(), String> {
    if works(&mut program("nft", "--version")) { Ok(()) } else { apt("nftables") }
}

/// ethtool, which switches offloads of devices.
///
/// # Errors
/// If it is missing and cannot be installed.
pub(crate) fn ethtool() -> Result<(), String> {
    if works(&mut program("ethtool", "--version")) { Ok(()) } else { apt("ethtool") }
}

/// What the kernel's connections are made with, and tshark, which reads captures of them.
///
/// # Errors
/// If something is missing and cannot be installed.
pub(crate) fn interop() -> Result<(), String> {
    for (name, question, package) in [
        ("curl", "--version", "curl"),
        ("wget", "--version", "wget"),
        ("iperf3", "--version", "iperf3"),
        ("mptcpize", "--help", "mptcpize"),
        ("python3", "--version", "python3"),
    ] {
        if !works(&mut program(name, question)) {
            apt(package)?;
        }
    }
    tshark()
}

/// What packetdrill is built with.
///
/// # Errors
/// If it is missing and cannot be installed.
pub(crate) fn packetdrill() -> Result<(), String> {
    for (name, package) in [("gcc", "gcc"), ("make", "make"), ("bison", "bison"), ("flex", "flex")] {
        if !works(&mut program(name, "--version")) {
            apt(package)?;
        }
    }
    for package in ["libssl-dev", "zlib1g-dev"] {
        if !works(&mut program("dpkg-query", &format!("--status {package}"))) {
            apt(package)?;
        }
    }
    Ok(())
}

/// ns-3, to be compared with, and a compiler for it.
///
/// # Errors
/// If they are missing and cannot be installed.
pub(crate) fn install_ns3() -> Result<(), String> {
    if !works(&mut program("g++", "--version")) {
        apt("g++")?;
    }
    if !works(&mut program("dpkg-query", "--status libns3-dev")) {
        apt("libns3-dev")?;
    }
    Ok(())
}

/// Node.js.
///
/// # Errors
/// If it is not there.
pub(crate) fn node() -> Result<&'static str, String> {
    let names = ["node", "nodejs"];
    let found = names.into_iter().find(|name| works(&mut program(name, "--version")));
    found.ok_or_else(|| "Node.js is missing: install the package nodejs".into())
}

fn has_wasm() -> bool {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let output = program(&rustc, &format!("--print target-libdir --target {WASM}")).output();
    output.is_ok_and(|o| o.status.success() && Path::new(String::from_utf8_lossy(&o.stdout).trim()).is_dir())
}

fn rustup(arguments: &str) -> Result<(), String> {
    run(&mut program("rustup", arguments)).map_err(|e| format!("{e} (without rustup, install it in your own way)"))
}

/// Installs one of Debian's packages.
fn apt(package: &str) -> Result<(), String> {
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.trim_ascii() == b"0");
    if !root {
        return Err(format!(
            "the package {package} is missing, and only root can install it: apt-get install {package}"
        ));
    }
    let apt = |arguments: &str| run(program("apt-get", arguments).env("DEBIAN_FRONTEND", "noninteractive"));
    apt("update --quiet")
        .and_then(|()| apt(&format!("install --quiet --yes --no-install-recommends {package}")))
        .map_err(|e| format!("the package {package} is missing and cannot be installed: {e}"))
}
