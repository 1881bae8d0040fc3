//! The outputs in `docs/first-hour.md`: each console block in it shows a command, and what that command prints.

use crate::results::{document, put, text};
use crate::run::{root, target};
use std::process::Command;

const LESSON: &str = "docs/first-hour.md";
const START: &str = "```console\n$ ";
const END: &str = "```\n";

/// Checks that each block shows what its command prints. The command must have been built.
///
/// # Errors
/// The first block that shows something else, or a command that fails.
pub(crate) fn check() -> Result<(), String> {
    let shown = document(LESSON)?;
    let differs = "does not show what its commands print now. If the change is intended, run `cargo xtask results` and change \
                   the sentences about it";
    if with_outputs(&shown, output)? == shown { Ok(()) } else { Err(format!("{LESSON} {differs}")) }
}

/// Writes into each block what its command prints.
///
/// # Errors
/// If a command or the file fails.
pub(crate) fn write() -> Result<(), String> {
    put(LESSON, with_outputs(&document(LESSON)?, output)?.as_bytes())
}

/// The document with the output of each block's command in place of what the block shows.
fn with_outputs(document: &str, output: impl Fn(&str) -> Result<String, String>) -> Result<String, String> {
    let mut blocks = document.split(START);
    let mut out = blocks.next().unwrap_or_default().to_owned();
    for block in blocks {
        let (command, rest) = block.split_once('\n').unwrap_or((block, ""));
        let Some((_, after)) = rest.split_once(END) else { return Err(format!("the block of {command:?} has no end")) };
        out.extend([START, command, "\n", &output(command)?, END, after]);
    }
    Ok(out)
}

/// The output of a shell for a command line with `pathweave` in it.
fn output(command: &str) -> Result<String, String> {
    println!("$ {command}");
    let path = format!("{}:{}", target().join("release").display(), std::env::var("PATH").unwrap_or_default());
    let printed = text(Command::new("sh").args(["-c", command]).env("PATH", path).current_dir(root()))?;
    // The status of a pipe is that of its last program, whatever the first one did.
    if printed.is_empty() { Err(format!("{command:?} prints nothing")) } else { Ok(printed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_the_output_of_its_command() {
        let old = "a\n```console\n$ one | head\nold\n```\nb\n```sh\nnot run\n```\n```console\n$ two\n```\nc\n";
        let new = with_outputs(old, |command| Ok(format!("[{command}]\n"))).expect("every block has an end");
        assert_eq!(
            new,
            "a\n```console\n$ one | head\n[one | head]\n```\nb\n```sh\nnot run\n```\n```console\n$ two\n[two]\n```\nc\n"
        );
        assert!(with_outputs("```console\n$ one\nold\n", |_| Ok(String::new())).is_err());
    }
}
