//! Completions and manual pages.

use crate::args::Arguments;
use crate::failure::Failure;
use clap::CommandFactory;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Writes a shell's completions to standard output.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "pathweave", &mut script);
    io::stdout().lock().write_all(&script).map_err(Failure::writing("standard output"))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a manual page for the command and for each of its parts.
pub(crate) fn man(folder: &Path) -> Result<ExitCode, Failure> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), folder))
        .map_err(Failure::writing(folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
