//! The program `pathweave`: the command of the library, with the built-in schedulers and controllers.

use std::process::ExitCode;

fn main() -> ExitCode {
    pathweave::main_with(pathweave::Registry::builtin())
}
