//! `pathweave new-scheduler`.

use crate::args::NewSchedulerOptions;
use pathweave_algorithms::Registry;
use pathweave_runner::Failure;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The crate's manifest, with placeholders for its name and its dependencies.
const MANIFEST: &str = include_str!("../templates/new-scheduler/Cargo.toml.txt");
/// The crate's program. Here, it is the example `sample-rule`, and its tests are among those of the command.
const MAIN: &str = include_str!("../templates/new-scheduler/src/main.rs");
const SCHEDULER: &str = include_str!("../templates/new-scheduler/src/scheduler.rs");
/// The scheduler's name in the program.
const SAMPLE: &str = "sample-rule";

/// Most letters of a name.
const LONGEST: usize = 40;
/// Names that Cargo or Rust does not accept for a crate, or that one of its dependencies has.
const TAKEN: [&str; 9] =
    ["test", "core", "std", "alloc", "proc-macro", "build", "deps", "pathweave", "pathweave-scheduler"];
/// Rust's reserved words (edition 2024) that consist of lower-case letters.
const RESERVED: &str = "abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen \
                        if impl in let loop macro match mod move mut override priv pub ref return self static struct super trait \
                        true try type typeof unsafe unsized use virtual where while yield";

/// Writes the crate.
pub(crate) fn write(options: &NewSchedulerOptions, registry: &Registry) -> Result<u8, Failure> {
    let name = &options.name;
    check_name(name, registry)?;
    let folder = options.path.clone().unwrap_or_else(|| PathBuf::from(name));
    if folder.exists() {
        return Err(Failure::Input(format!(
            "{}: this folder exists already; choose one that does not",
            folder.display()
        )));
    }
    let source = Source::of(options)?;
    let fill = |text: &str| {
        let text = text.replace("@PATHWEAVE@", &source.dependency("crates/cli", ""));
        let text = text.replace("@SCHEDULER@", &source.dependency("crates/scheduler", ""));
        let text =
            text.replace("@SCHEDULER_TESTING@", &source.dependency("crates/scheduler", ", features = [\"testing\"]"));
        text.replace("@NAME@", name)
    };
    let place = |file: &str| folder.join(file);
    let writing = |file: &Path, text: &str| std::fs::write(file, text).map_err(Failure::writing(file.display()));
    std::fs::create_dir_all(place("src")).map_err(Failure::writing(folder.display()))?;
    writing(&place("Cargo.toml"), &fill(MANIFEST))?;
    writing(&place("src/main.rs"), &MAIN.replace(SAMPLE, name))?;
    writing(&place("src/scheduler.rs"), &SCHEDULER.replace(SAMPLE, name))?;
    writing(&place(".gitignore"), "/target\n")?;
    if let Source::Checkout(checkout) = &source {
        // Libraries that are built there already are not built again.
        std::fs::create_dir_all(place(".cargo")).map_err(Failure::writing(folder.display()))?;
        let target = checkout.join("target").display().to_string();
        let text = format!(
            "# Pathweave's own target folder, so that the libraries built there are used.\n[build]\ntarget-dir = {target:?}\n"
        );
        writing(&place(".cargo/config.toml"), &text)?;
    }
    if let Some(lock) = source.lock() {
        // The versions that Pathweave is tested with.
        writing(&place("Cargo.lock"), &lock)?;
    }
    let text = format!(
        "{folder}: the rule is in src/scheduler.rs. Next:\n  cd {folder}\n  cargo test\n  cargo run --release -- compare --schedulers \
         {name},minrtt\n  cargo run --release -- explain wifi-lte --scheduler {name}\n  \
         cargo run --release -- arena {name} --against minrtt --points bulk-evaluation/1-3\n",
        folder = folder.display()
    );
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::writing("standard output"))?;
    Ok(0)
}

fn check_name(name: &str, registry: &Registry) -> Result<(), Failure> {
    let wrong = |allowed: &str| Err(Failure::Input(format!("the name {name} is not possible; use {allowed}")));
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let first = name.chars().next().is_some_and(|c| c.is_ascii_lowercase());
    if !first || !name.chars().all(good) || name.ends_with('-') || name.contains("--") {
        return wrong(
            "lower-case letters, digits and single hyphens, beginning with a letter and not ending with a hyphen, such as my-rule",
        );
    }
    if name.len() > LONGEST {
        return wrong("at most 40 characters");
    }
    if TAKEN.contains(&name) || RESERVED.split_whitespace().any(|word| word == name) {
        return wrong("a name that Cargo accepts for a new crate");
    }
    if registry.scheduler(name).is_ok() {
        return wrong("a name that is not taken by a scheduler (see `pathweave list schedulers`)");
    }
    Ok(())
}

/// The source of the crate's dependencies.
enum Source {
    Checkout(PathBuf),
    Git { url: String, rev: String },
}

impl Source {
    fn of(options: &NewSchedulerOptions) -> Result<Source, Failure> {
        if let (Some(url), Some(rev)) = (&options.git, &options.rev) {
            return Ok(Source::Git { url: url.clone(), rev: rev.clone() });
        }
        let given = options.checkout.as_deref().unwrap_or(Path::new("."));
        let wrong = |reason: String| {
            Failure::Input(format!(
                "--checkout = {}: {reason}; give the folder of a checkout of Pathweave",
                given.display()
            ))
        };
        let folder = given.canonicalize().map_err(|e| wrong(e.to_string()))?;
        if !folder.join("crates/scheduler/Cargo.toml").is_file() || !folder.join("crates/cli/Cargo.toml").is_file() {
            return Err(wrong("it contains no crates/scheduler".into()));
        }
        Ok(Source::Checkout(folder))
    }

    /// The right-hand side of a dependency in a manifest.
    fn dependency(&self, part: &str, more: &str) -> String {
        match self {
            // A Rust string and a TOML string agree on backslashes and quotes.
            Source::Checkout(folder) => format!("{{ path = {:?}{more} }}", folder.join(part).display().to_string()),
            Source::Git { url, rev } => format!("{{ git = {url:?}, rev = {rev:?}{more} }}"),
        }
    }

    fn lock(&self) -> Option<String> {
        match self {
            Source::Checkout(folder) => std::fs::read_to_string(folder.join("Cargo.lock")).ok(),
            Source::Git { .. } => None,
        }
    }
}
