//! The command.

use std::process::ExitCode;

fn main() -> ExitCode {
    pathweave::main_with(pathweave::Registry::builtin())
}
