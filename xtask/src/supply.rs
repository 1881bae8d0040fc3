//! The dependencies: each is used, and `deny.toml` allows it.

use crate::run::{cargo, run, works};

/// Runs cargo-machete and cargo-deny over the workspace. With `offline`, the copy of the advisories is used that cargo-deny keeps.
///
/// # Errors
/// How to install the program that is missing, or that the check failed.
pub(crate) fn check(offline: bool) -> Result<(), String> {
    let deny = if offline { "deny --offline check" } else { "deny check" };
    for arguments in ["machete", deny] {
        let name = arguments.split(' ').next().unwrap_or_default();
        if !works(&mut cargo(&format!("{name} --version"))) {
            return Err(missing(name));
        }
        run(&mut cargo(arguments))?;
    }
    Ok(())
}

fn missing(name: &str) -> String {
    format!("cargo-{name} is missing; this installs it in some minutes: cargo install --locked cargo-{name}")
}
