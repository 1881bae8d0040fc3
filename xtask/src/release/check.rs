//! Tries a release in a bare Debian: the command, the Debian package and the wheel must give their first answer soon, and it
//! must be the right one. A program that is linked with the C library must run there.

use super::bare::{self, Bare};
use super::{C_LIBRARY, MACHINE, VERSION, folder, wrong};
use crate::python::readme_example;
use crate::results::{check_first_answer, text};
use crate::run::{capture, program, run, target, works};
use crate::scheduler_c;
use crate::steps::{Steps, now};
use std::fs;
use std::time::Duration;

/// The longest that an artifact may take from being unpacked to its first answer.
const SOON: Duration = Duration::from_secs(60);
/// What the README's Python example does, as a command.
const EXAMPLE: &str = "pathweave compare wifi-lte --schedulers minrtt,linux --seeds 5";

/// Checks the release that [`super::make`] has made.
pub(crate) fn check(steps: &mut Steps) {
    let ready = steps.step("sums", |_| sums()) && steps.step("bare Debian", |_| bare::prepare());
    if !ready {
        return;
    }
    steps.step("command without any library", |_| alone());
    steps.step("install script", |_| script());
    steps.step("Debian package", |_| debian());
    steps.step("C library", |_| c_library());
    steps.step("wheel", |_| wheel());
}

fn sums() -> Result<(), String> {
    if !folder().join("SHA256SUMS").is_file() {
        return Err(format!("there is no release in {}; `cargo xtask release` makes it", folder().display()));
    }
    run(program("sha256sum", "--check --strict SHA256SUMS").current_dir(folder()))
}

/// Runs the command in a folder that has nothing else, as in an image that begins from scratch.
fn alone() -> Result<(), String> {
    let script = r#"
        place=$(mktemp -d)
        trap 'rm -rf "$place"' EXIT
        tar -xzf "$1" -C "$place"
        chroot "$place" "/$2/bin/pathweave" --version
    "#;
    let name = format!("pathweave_{VERSION}_{MACHINE}");
    let shown =
        text(program("sh", "-euc").args([script, "sh"]).arg(folder().join(format!("{name}.tar.gz"))).arg(&name))?;
    print!("{shown}");
    let expected = format!("pathweave {VERSION}");
    if shown.starts_with(&expected) { Ok(()) } else { Err(format!("the command does not print {expected}: {shown}")) }
}

/// The archive by the install script, which must refuse an archive that is not the release's.
fn script() -> Result<(), String> {
    let bare = Bare::new("script")?;
    within_time(|| {
        run(&mut bare.inside("sh /release/install.sh"))?;
        check_first_answer(&text(&mut bare.inside("pathweave compare"))?)
    })?;
    run(&mut bare
        .inside("ls /usr/local/share/man/man1/pathweave.1.gz /usr/local/share/bash-completion/completions/pathweave"))?;
    let changed =
        format!("printf x >>/release/pathweave_{VERSION}_{MACHINE}.tar.gz; sh /release/install.sh --prefix /changed");
    if works(&mut bare.inside(&changed)) || works(&mut bare.inside("ls /changed")) {
        return Err("install.sh installs an archive that is not the one of SHA256SUMS".into());
    }
    Ok(())
}

fn debian() -> Result<(), String> {
    let bare = Bare::new("deb")?;
    within_time(|| {
        run(&mut bare.inside("dpkg --install /release/*.deb"))?;
        check_first_answer(&text(&mut bare.inside("pathweave compare"))?)
    })?;
    // The feature `tun`: without it there is no such command.
    run(&mut bare.inside("pathweave perf --help >/dev/null && pathweave emulate --help >/dev/null"))?;
    let texts = "gzip -t /usr/share/man/man1/pathweave-compare.1.gz; ls /usr/share/bash-completion/completions/pathweave; \
                 grep CAP_NET_ADMIN /usr/share/doc/pathweave/README.Debian; dpkg --purge pathweave; ! command -v pathweave";
    run(&mut bare.inside(texts))
}

/// The archive of the C library as a user unpacks it: programs are compiled against it on this machine, and the one with
/// the shared library runs in the bare system too, whose C library is older.
fn c_library() -> Result<(), String> {
    let place = target().join("scheduler-c/unpacked");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).map_err(wrong(&place))?;
    let archive = folder().join(format!("{C_LIBRARY}.tar.gz"));
    run(program("tar", "--extract --gzip --strip-components=1 --file").arg(archive).arg("--directory").arg(&place))?;
    run(program("ls", "share/doc/pathweave-scheduler/embedding-c.md").current_dir(&place))?;
    let (example, output) = scheduler_c::check_in(&place)?;
    let bare = Bare::new("c")?;
    bare.copy(&place, "/pathweave")?;
    bare.copy(&example, "/example")?;
    let [first, second] = scheduler_c::COMPARED;
    let said = text(&mut bare.inside(&format!("LD_LIBRARY_PATH=/pathweave/lib /example {first} {second}")))?;
    if said == output { Ok(()) } else { Err(format!("the example says something else in the bare system:\n{said}")) }
}

/// The wheel in a new virtual environment, and the README's example. Its answer must be the command's.
fn wheel() -> Result<(), String> {
    let bare = Bare::new("wheel")?;
    let mut answer = String::new();
    within_time(|| {
        run(&mut bare.inside("python3 -m venv venv; venv/bin/pip install --no-index --find-links /release pathweave"))?;
        let example = readme_example()?;
        answer = text(bare.inside("venv/bin/python -P -c \"$1\"").args(["sh", &example]))?;
        print!("{answer}");
        Ok(())
    })?;
    run(&mut bare.inside("test -s page.html; sh /release/install.sh"))?;
    let expected = capture(&mut bare.inside(EXAMPLE))?;
    if words(&String::from_utf8_lossy(&expected)).contains(&words(&answer)) {
        return Ok(());
    }
    Err(format!("the README's Python example does not print what `{EXAMPLE}` answers: {answer}"))
}

/// The words of a text, however its lines are broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs an installation up to its first answer, which must come soon.
fn within_time(first_answer: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let start = now();
    first_answer()?;
    let taken = start.elapsed();
    println!("the first answer came {:.1} s after the start of unpacking", taken.as_secs_f64());
    if taken <= SOON { Ok(()) } else { Err(format!("that is too late: {} s are allowed", SOON.as_secs())) }
}
