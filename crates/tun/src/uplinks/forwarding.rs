//! Switches the machine's forwarding on while there are paths, and restores it afterwards.

use super::Version;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A setting of the machine and its value before the change.
type Before = (PathBuf, String);

/// Restores the changed settings when dropped. If the program is killed, the machine keeps forwarding.
pub(super) struct Forwarding(Vec<Before>);

impl Forwarding {
    /// Switches forwarding on.
    ///
    /// A machine that forwards IPv6 ignores router advertisements, and so would lose its own addresses. Links that
    /// accept them are therefore set to accept them even when forwarding (`accept_ra` 2 of the kernel's ip-sysctl.rst).
    pub(super) fn on(version: Version) -> io::Result<Self> {
        let mut forwarding = Forwarding(Vec::new());
        match version {
            Version::V4 => forwarding.set(Path::new("/proc/sys/net/ipv4/ip_forward"), "1")?,
            Version::V6 => {
                let links: Vec<PathBuf> =
                    fs::read_dir("/proc/sys/net/ipv6/conf")?.flatten().map(|entry| entry.path()).collect();
                let is = |link: &Path, setting: &str, value: &str| {
                    fs::read_to_string(link.join(setting)).is_ok_and(|text| text.trim() == value)
                };
                for link in &links {
                    if is(link, "accept_ra", "1") && is(link, "forwarding", "0") {
                        forwarding.set(&link.join("accept_ra"), "2")?;
                    }
                }
                // This setting changes that of every link, so each is restored.
                for link in links.iter().filter(|link| !link.ends_with("all")) {
                    forwarding.remember(&link.join("forwarding"))?;
                }
                forwarding.set(Path::new("/proc/sys/net/ipv6/conf/all/forwarding"), "1")?;
            }
        }
        Ok(forwarding)
    }

    fn remember(&mut self, setting: &Path) -> io::Result<()> {
        let value = fs::read_to_string(setting).map_err(|e| named(setting, &e))?;
        self.0.push((setting.to_owned(), value));
        Ok(())
    }

    fn set(&mut self, setting: &Path, value: &str) -> io::Result<()> {
        self.remember(setting)?;
        fs::write(setting, value).map_err(|e| named(setting, &e))
    }
}

impl Drop for Forwarding {
    /// Restores the settings in reverse order, but each link's forwarding last of all. Some links may be gone.
    fn drop(&mut self) {
        self.0.sort_by_key(|(setting, _)| (setting.ends_with("accept_ra"), !setting.ends_with("all/forwarding")));
        for (setting, value) in &self.0 {
            let _ = fs::write(setting, value);
        }
    }
}

fn named(setting: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", setting.display()))
}
