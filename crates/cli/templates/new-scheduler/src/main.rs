//! The whole command `pathweave` with one more scheduler: `cargo run --release -- compare --schedulers sample-rule,minrtt`.

mod scheduler;

use std::process::ExitCode;

fn main() -> ExitCode {
    pathweave::main_with(pathweave::Registry::builtin().with_scheduler(scheduler::ENTRY))
}
