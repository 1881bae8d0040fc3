//! The dependencies: each is used, and `deny.toml` allows it.

use crate::run::{cargo, run, works};

/// Runs cargo-machete and cargo-deny over the workspace. With `offline`, cargo-deny uses its stored copy of the
/// advisories.
///
/// # Errors
/// If the check fails, or a program is missing; then the message says how to install it.
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
