//! The tools that the checks need, and the Debian packages that have them.

use crate::run::{cargo, program, run, works};
use std::path::{Path, PathBuf};
use std::process::Command;

/// About what a run of all checks from a fresh clone writes below `target/`, GB of 10⁹ bytes.
const ROOM_GB: u64 = 5;

const WASM: &str = "wasm32-unknown-unknown";

/// A Debian package, and a way to see whether it is installed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    package: &'static str,
    /// Names of the program; one of them is enough. Empty for a library, which is looked for with dpkg.
    programs: &'static [&'static str],
}

const fn tool(package: &'static str, programs: &'static [&'static str]) -> Tool {
    Tool { package, programs }
}

pub(crate) const NODE: Tool = tool("nodejs", &["node", "nodejs"]);
pub(crate) const VALGRIND: Tool = tool("valgrind", &["valgrind"]);
pub(crate) const TSHARK: Tool = tool("tshark", &["tshark"]);
pub(crate) const CHROMIUM: Tool =
    tool("chromium", &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]);
pub(crate) const GCC: Tool = tool("gcc", &["gcc"]);
pub(crate) const GXX: Tool = tool("g++", &["g++"]);
pub(crate) const PKG_CONFIG: Tool = tool("pkg-config", &["pkg-config"]);
pub(crate) const NFT: Tool = tool("nftables", &["nft"]);
pub(crate) const ETHTOOL: Tool = tool("ethtool", &["ethtool"]);
/// Tools that measure emulated paths.
pub(crate) const EMULATION: [Tool; 2] = [tool("iputils-ping", &["ping"]), tool("iperf3", &["iperf3"])];
/// Tools that make the kernel's connections and read captures of them.
pub(crate) const INTEROP: [Tool; 6] = [
    tool("curl", &["curl"]),
    tool("wget", &["wget"]),
    tool("iperf3", &["iperf3"]),
    tool("mptcpize", &["mptcpize"]),
    tool("python3", &["python3"]),
    TSHARK,
];
/// Tools that build packetdrill.
pub(crate) const PACKETDRILL: [Tool; 6] = [
    GCC,
    tool("make", &["make"]),
    tool("bison", &["bison"]),
    tool("flex", &["flex"]),
    tool("libssl-dev", &[]),
    tool("zlib1g-dev", &[]),
];
/// The kernel's source, what builds it, and what its guest runs.
pub(crate) const LINUX: [Tool; 15] = [
    tool("linux-source-6.12", &[]),
    GCC,
    tool("make", &["make"]),
    tool("flex", &["flex"]),
    tool("bison", &["bison"]),
    tool("bc", &["bc"]),
    tool("patch", &["patch"]),
    tool("xz-utils", &["xz"]),
    tool("libelf-dev", &[]),
    tool("libssl-dev", &[]),
    tool("python3", &["python3"]),
    tool("iproute2", &["ip"]),
    tool("iputils-ping", &["ping"]),
    tool("tcpdump", &["tcpdump"]),
    ETHTOOL,
];
/// Checks scripts of the shell.
pub(crate) const SHELLCHECK: Tool = tool("shellcheck", &["shellcheck"]);
/// Makes a Debian system in a folder.
pub(crate) const DEBOOTSTRAP: Tool = tool("debootstrap", &["debootstrap"]);
/// ns-3 and a compiler for it.
pub(crate) const NS3: [Tool; 2] = [GXX, tool("libns3-dev", &[])];

impl Tool {
    /// The program's path, by the first of its names that is in `PATH`.
    pub(crate) fn find(&self) -> Option<PathBuf> {
        let folders: Vec<_> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
        self.programs.iter().flat_map(|name| folders.iter().map(move |f| f.join(name))).find(|path| path.is_file())
    }

    fn is_there(&self) -> bool {
        match self.programs {
            [] => works(&mut program("dpkg-query", &format!("--status {}", self.package))),
            _ => self.find().is_some(),
        }
    }

    /// The program's path. Installs the package if there is no such program.
    ///
    /// # Errors
    /// If it cannot be installed.
    pub(crate) fn path(&self) -> Result<PathBuf, String> {
        install(&[*self])?;
        self.find().ok_or_else(|| format!("the package {} has none of: {}", self.package, self.programs.join(", ")))
    }
}

/// Installs Rust's components, the target wasm32-unknown-unknown, and `tools`. First prints what is missing.
///
/// # Errors
/// The missing parts, if they cannot be installed or `may_install` is false.
pub(crate) fn install_all(tools: &[Tool], may_install: bool) -> Result<(), String> {
    let components = [("rustfmt", "fmt"), ("clippy", "clippy")].map(|(component, command)| {
        let there = works(&mut cargo(&format!("{command} --version")));
        (!there).then(|| format!("component add {component}"))
    });
    let target = (!has_wasm()).then(|| format!("target add {WASM}"));
    let of_rust: Vec<String> = components.into_iter().chain([target]).flatten().collect();
    let packages = missing(tools);
    if of_rust.is_empty() && packages.is_empty() {
        println!("all tools are there");
        return Ok(());
    }
    let rustup_commands = of_rust.iter().map(|arguments| format!("  rustup {arguments}\n"));
    let apt_command = (!packages.is_empty()).then(|| format!("  apt-get install {}\n", packages.join(" ")));
    let commands: String = rustup_commands.chain(apt_command).collect();
    if !may_install {
        return Err(format!("tools are missing; these commands install them:\n{commands}"));
    }
    println!("tools are missing and are installed now:\n{commands}");
    for arguments in of_rust {
        let without = "(without rustup, install it in your own way)";
        run(&mut program("rustup", &arguments)).map_err(|e| format!("{e} {without}"))?;
    }
    apt(&packages)
}

/// Prints how much room the disk of `folder` has if that may be too little for a first run of all checks.
///
/// # Errors
/// If `df` cannot be run.
pub(crate) fn warn_of_full_disk(folder: &Path) -> Result<(), String> {
    let output = program("df", "--block-size=1000000000 --output=avail").arg(folder).output();
    let output = output.map_err(|e| format!("df: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some(free @ 0..ROOM_GB) = text.lines().last().and_then(|line| line.trim().parse().ok()) {
        println!("{}: {free} GB are free; a first run of all checks writes about {ROOM_GB} GB", folder.display());
    }
    Ok(())
}

/// Debian's packages of the tools that are missing, each once.
fn missing(tools: &[Tool]) -> Vec<&'static str> {
    let mut packages: Vec<&str> = tools.iter().filter(|tool| !tool.is_there()).map(|tool| tool.package).collect();
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// Installs the packages of missing tools.
///
/// # Errors
/// If they cannot be installed.
pub(crate) fn install(tools: &[Tool]) -> Result<(), String> {
    apt(&missing(tools))
}

fn has_wasm() -> bool {
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let output = program(&rustc, &format!("--print target-libdir --target {WASM}")).output();
    output.is_ok_and(|o| o.status.success() && Path::new(String::from_utf8_lossy(&o.stdout).trim()).is_dir())
}

/// Installs Debian's packages.
fn apt(packages: &[&str]) -> Result<(), String> {
    if packages.is_empty() {
        return Ok(());
    }
    let list = packages.join(" ");
    let root = Command::new("id").arg("-u").output().is_ok_and(|o| o.stdout.trim_ascii() == b"0");
    if !root {
        return Err(format!("packages are missing, and only root can install them: apt-get install {list}"));
    }
    let apt = |arguments: &str| run(program("apt-get", arguments).env("DEBIAN_FRONTEND", "noninteractive"));
    apt("update --quiet")
        .and_then(|()| apt(&format!("install --quiet --yes --no-install-recommends {list}")))
        .map_err(|e| format!("packages are missing and cannot be installed ({list}): {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_once() {
        let absent = tool("a-package", &["no-such-program"]);
        assert_eq!(missing(&[absent, tool("coreutils", &["ls"]), absent]), ["a-package"]);
        assert_eq!(missing(&[tool("one-of-them-is-enough", &["no-such-program", "ls"])]), [""; 0]);
    }

    #[test]
    fn without_leave_to_install_the_commands_are_said() {
        let error = install_all(&[tool("a-package", &["no-such-program"])], false);
        assert!(error.is_err_and(|text| text.contains("apt-get install a-package")));
    }
}
