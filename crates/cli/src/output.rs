//! Outputs of commands: files, or standard output for `-`.
//!
//! The ending of a file's name says what the file contains, so an ending that stands for another content is refused:
//!
//! | content | endings |
//! |---|---|
//! | a page | `.html`, `.htm` |
//! | a table | `.csv`, `.txt` |
//! | lines of JSON | `.jsonl`, `.ndjson`, `.json`, `.txt`, `.log` |
//! | JSON | `.json`, `.txt`, `.log` |
//! | a capture | `.pcapng` |
//!
//! A name without an ending, or with an ending without a meaning (`.tmp`, `.1`), is allowed.

use pathweave_runner::Failure;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Contents that commands write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// HTML.
    Page,
    /// Comma-separated values.
    Table,
    /// Lines of JSON, one object each.
    Lines,
    /// One JSON object.
    #[cfg_attr(
        not(any(feature = "tun", test)),
        expect(dead_code, reason = "`perf` alone writes it, which the feature tun adds")
    )]
    Json,
    /// A capture in the format pcapng.
    Capture,
}

impl Content {
    fn name(self) -> &'static str {
        match self {
            Content::Page => "a page",
            Content::Table => "a table",
            Content::Lines => "lines of JSON",
            Content::Json => "JSON",
            Content::Capture => "a capture in the format pcapng",
        }
    }

    /// Endings of names of files with this content.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Content::Page => &["html", "htm"],
            Content::Table => &["csv", "txt"],
            Content::Lines => &["jsonl", "ndjson", "json", "txt", "log"],
            Content::Json => &["json", "txt", "log"],
            Content::Capture => &["pcapng"],
        }
    }
}

/// Endings that stand for a content.
const KNOWN: [&str; 29] = [
    "html", "htm", "csv", "txt", "jsonl", "ndjson", "json", "log", "pcapng", "pcap", "cap", "parquet", "toml", "tsv",
    "md", "svg", "png", "pdf", "xml", "yaml", "yml", "xlsx", "zip", "gz", "rs", "py", "up", "down", "ipynb",
];

/// Most symbolic links in a chain that are followed, as in Linux.
const MOST_LINKS: usize = 40;

/// A file that an option names, or standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Output(PathBuf);

impl Output {
    /// Reads the value of an option that names an output for `content`.
    pub(crate) fn read(text: &str, content: Content) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let ending = path.extension().and_then(|e| e.to_str()).map(str::to_lowercase);
        match ending {
            Some(ending) if KNOWN.contains(&&*ending) && !content.endings().contains(&&*ending) => {
                let allowed: Vec<String> = content.endings().iter().map(|e| format!(".{e}")).collect();
                Err(format!(
                    "the file would hold {}, and .{ending} stands for something else; let the name end with {}, or with nothing",
                    content.name(),
                    allowed.join(", ")
                ))
            }
            _ => Ok(Output(path)),
        }
    }

    /// The file; `None` for standard output.
    pub(crate) fn file(&self) -> Option<&Path> {
        (self.0 != Path::new("-")).then_some(&self.0)
    }

    /// The output's file. An error if the output is standard output.
    pub(crate) fn named_file(&self, option: &str, reason: &str) -> Result<&Path, Failure> {
        self.file().ok_or_else(|| Failure::Input(format!("{option} -: {reason}; give the name of a file")))
    }

    /// Opens the output for writing.
    pub(crate) fn create(&self) -> Result<Box<dyn Write + Send>, Failure> {
        match self.file() {
            None => Ok(Box::new(io::stdout())),
            Some(path) => Ok(Box::new(File::create(path).map_err(Failure::writing(self))?)),
        }
    }

    /// Writes the whole text.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let mut out = self.create()?;
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::writing(self))
    }
}

/// Reads an option that names the output for a page.
pub(crate) fn page(text: &str) -> Result<Output, String> {
    Output::read(text, Content::Page)
}

/// Reads an option that names the output for lines of JSON.
pub(crate) fn lines(text: &str) -> Result<Output, String> {
    Output::read(text, Content::Lines)
}

/// Reads an option that names the output for a table.
pub(crate) fn table(text: &str) -> Result<Output, String> {
    Output::read(text, Content::Table)
}

/// Reads an option that names the output for a capture.
pub(crate) fn capture(text: &str) -> Result<Output, String> {
    Output::read(text, Content::Capture)
}

impl From<&str> for Output {
    fn from(name: &str) -> Self {
        Output(name.into())
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file() {
            None => f.write_str("standard output"),
            Some(path) => path.display().fmt(f),
        }
    }
}

/// Whether one of these outputs is standard output, so that everything else must go to standard error.
pub(crate) fn on_stdout<'a>(outputs: impl IntoIterator<Item = &'a Output>) -> bool {
    outputs.into_iter().any(|output| output.file().is_none())
}

/// Prints a text to standard output, or to standard error if an output uses standard output.
pub(crate) fn show(text: &str, stdout_is_taken: bool) -> Result<(), Failure> {
    match stdout_is_taken {
        true => io::stderr().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard error")),
        false => io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output")),
    }
}

/// Checks, before any work, that the outputs can be written and destroy nothing: each has a folder, no two are the same
/// file, and none is one of the command's `inputs`.
pub(crate) fn check<'a>(outputs: impl IntoIterator<Item = &'a Output>, inputs: &[PathBuf]) -> Result<(), Failure> {
    let outputs: Vec<&Output> = outputs.into_iter().collect();
    let files: Vec<&Path> = outputs.iter().filter_map(|output| output.file()).collect();
    if outputs.len() - files.len() > 1 {
        return Err(Failure::Input("-: standard output can hold one output; give the others names of files".into()));
    }
    files.iter().try_for_each(|path| check_folder(path))?;
    for (i, path) in files.iter().enumerate() {
        if let Some(other) = files[..i].iter().find(|other| is_same(path, other)) {
            let (a, b) = (other.display(), path.display());
            return Err(Failure::Input(format!("{a} and {b} are one file, and one output would overwrite the other")));
        }
    }
    spare(files, inputs)
}

/// Checks that none of the files that a command will write is one of its `inputs`.
pub(crate) fn spare<P: AsRef<Path>>(files: impl IntoIterator<Item = P>, inputs: &[PathBuf]) -> Result<(), Failure> {
    for path in files {
        let path = path.as_ref();
        if let Some(input) = inputs.iter().find(|input| is_same(path, input)) {
            let (path, input) = (path.display(), input.display());
            return Err(Failure::Input(format!("{path}: this is the input {input}, which would be overwritten")));
        }
    }
    Ok(())
}

/// Checks that the file's folder exists. Runs can take long, so this is checked before them.
fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.is_dir(), path.is_dir()) {
        (true, false) => Ok(()),
        (true, true) => Err(Failure::Input(format!("{}: this is a folder; a file name is needed", path.display()))),
        (false, _) => Err(Failure::Input(format!("{}: there is no folder {}", path.display(), folder.display()))),
    }
}

/// Whether two paths name the same file, however they are spelled. Devices and pipes, such as `/dev/null`, are never
/// the same, because they hold nothing that could be overwritten.
fn is_same(one: &Path, other: &Path) -> bool {
    match (one.exists(), other.exists()) {
        (true, true) => one.is_file() && same_file::is_same_file(one, other).unwrap_or(false),
        (false, false) => place(one).is_some_and(|place_of_one| Some(place_of_one) == place(other)),
        _ => false,
    }
}

/// The full path at which a file that does not exist would be created.
fn place(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder =
            path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")).canonicalize().ok()?;
        let file = folder.join(path.file_name()?);
        match std::fs::read_link(&file) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Some(file),
        }
    }
    None
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
