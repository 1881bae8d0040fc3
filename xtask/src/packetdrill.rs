//! Runs the scripts of packetdrill's Multipath TCP fork against the engine, which packetdrill loads as a library.
//!
//! The checkout is not part of this repository. It is copied to `target/packetdrill/` and changed there: it is built
//! without `-Werror`, its hashes come from OpenSSL instead of the kernel, and the kernel settings that scripts make are
//! written into a file that the library reads (`interop/packetdrill/src/settings.rs`). So nothing on this machine
//! changes.

use crate::run::{capture, cargo, in_parallel, program, root, run, target};
use crate::setup;
use crate::steps::Counts;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Scripts that cannot pass, each with its reason.
const EXCEPTIONS: &str = "interop/packetdrill/exceptions.txt";

/// Prefix of a script that is an exception only in the fork's older version.
const FORK: &str = "fork:";

/// The folders of scripts.
const FAMILIES: [&str; 2] = ["mptcp", "tcp"];

/// Scripts for features that the engine does not have by design.
const LEFT_OUT: [&str; 2] = ["tcp/fastopen/", "tcp/zerocopy/"];

/// Programs that change a kernel. They are replaced by programs that write down their arguments.
const RECORDED: [&str; 3] = ["sysctl", "ip", "tc"];

/// packetdrill's code for sending a file, and its replacement for the library, which reads the file and writes its
/// data.
const SENDS_FILE: &str = "result = sendfile(live_outfd, live_infd, &live_offset, count);";
const SENDS_FILE_HERE: &str = "char *data = malloc(count > 0 ? count : 1);\n\tresult = pread(live_infd, data, count, live_offset);\n\t\
                               if (result > 0)\n\t\tresult = state->so_instance->ifc.write(\n\t\t\t\
                               state->so_instance->ifc.userdata, live_outfd, data, result);\n\tfree(data);";

/// A script's search for its listener, and its replacement.
const IN_KERNEL_TABLE: &str = "grep \" 0A \" /proc/net/tcp /proc/net/tcp6 | grep \":1F90\"";

/// Builds a checkout, runs its scripts and says which passed.
///
/// # Errors
/// If it cannot be built, if a script fails that is not an exception, or if an exception passes.
pub(crate) fn check(checkout: &Path, only: Option<&str>, counts: &mut Counts) -> Result<(), String> {
    setup::install(&setup::PACKETDRILL)?;
    let copy = prepare(checkout)?;
    run(&mut cargo("build --release --package pathweave-packetdrill"))?;
    let scripts: Vec<PathBuf> = find(&copy.join("gtests/net"))?
        .into_iter()
        .filter(|s| only.is_none_or(|part| s.to_string_lossy().contains(part)))
        .filter(|s| LEFT_OUT.iter().all(|folder| !name(&copy, s).starts_with(folder)))
        .collect();
    let exceptions = exceptions()?;
    let results = in_parallel(&scripts, |script| (name(&copy, script), one(&copy, script)));
    let (mut unexpected, mut excepted) = (Vec::new(), 0);
    let is_fork = copy.join("gtests/net/mptcp").is_dir();
    for (name, result) in &results {
        let of_fork = is_fork.then(|| exceptions.get(&format!("{FORK}{name}"))).flatten();
        match (result, exceptions.get(name).or(of_fork)) {
            (Ok(()), None) => {
                println!("pass  {name}");
                counts.passed += 1;
            }
            (Ok(()), Some(_)) => unexpected.push(format!("{name} passes: it is no exception any more")),
            (Err(_), Some(reason)) => {
                println!("-     {name}: {reason}");
                excepted += 1;
            }
            (Err(what), None) => {
                println!("FAIL  {name}: {what}");
                counts.failed += 1;
                unexpected.push(format!("{name}: {what}"));
            }
        }
    }
    let (passed, all) = (results.iter().filter(|(_, r)| r.is_ok()).count(), results.len());
    println!("{passed} of {all} scripts pass, {excepted} fail and are listed with a reason");
    if unexpected.is_empty() { Ok(()) } else { Err(unexpected.join("\n")) }
}

fn exceptions() -> Result<BTreeMap<String, String>, String> {
    let text = fs::read_to_string(root().join(EXCEPTIONS)).map_err(|e| format!("{EXCEPTIONS}: {e}"))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, reason) = line.split_once(": ").ok_or_else(|| format!("{EXCEPTIONS}: no reason in `{line}`"))?;
            Ok((name.to_owned(), reason.to_owned()))
        })
        .collect()
}

fn name(copy: &Path, script: &Path) -> String {
    script.strip_prefix(copy.join("gtests/net")).unwrap_or(script).to_string_lossy().into_owned()
}

/// All scripts for Multipath TCP and TCP, in order.
fn find(under: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    // Google's own has no scripts for Multipath TCP.
    let mut folders: Vec<PathBuf> = FAMILIES.iter().map(|f| under.join(f)).filter(|folder| folder.is_dir()).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "pkt") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn edit(file: &Path, change: impl FnOnce(String) -> String) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    fs::write(file, change(text)).map_err(|e| format!("{}: {e}", file.display()))
}

fn write_program(file: &Path, text: &str) -> Result<(), String> {
    let put = || {
        fs::write(file, text)?;
        fs::set_permissions(file, fs::Permissions::from_mode(0o755))
    };
    put().map_err(|e| format!("{}: {e}", file.display()))
}

/// Copies the checkout, changes the copy and builds it.
fn prepare(checkout: &Path) -> Result<PathBuf, String> {
    let copy = target().join("packetdrill/checkout");
    let programs = target().join("packetdrill/programs");
    fs::remove_dir_all(target().join("packetdrill")).ok();
    fs::create_dir_all(&copy).and_then(|()| fs::create_dir_all(&programs)).map_err(|e| e.to_string())?;
    run(Command::new("cp").arg("-r").arg(checkout.join("gtests")).arg(&copy))?;
    for name in RECORDED {
        let text = format!("#!/bin/sh\necho \"{name} $*\" >> \"$PATHWEAVE_PACKETDRILL_LINES\"\n");
        write_program(&programs.join(name), &text)?;
    }
    for family in FAMILIES.iter().filter(|f| copy.join("gtests/net").join(f).is_dir()) {
        let text = "#!/bin/sh\nfor a; do echo \"sysctl $a\"; done >> \"$PATHWEAVE_PACKETDRILL_LINES\"\n";
        write_program(&copy.join(format!("gtests/net/{family}/common/set_sysctls.py")), text)?;
    }
    for script in find(&copy.join("gtests/net"))? {
        // Commands that would restore values that were never changed.
        edit(&script, |text| {
            let text = text.replace("/tmp/sysctl_restore_${PPID}.sh", "true");
            // Commands that look for a socket of this machine's kernel.
            let text = text.replace(IN_KERNEL_TABLE, "true");
            text.lines().map(|line| announcement_alone(line) + "\n").collect()
        })?;
    }
    let source = copy.join("gtests/net/packetdrill");
    edit(&source.join("Makefile.common"), |text| {
        text.replace("-Werror", "").replace("mptcp_utils.o", "mptcp_utils.o hash_openssl.o")
    })?;
    // Commands that ask this machine's kernel about a socket ask the library instead.
    edit(&source.join("code.c"), |text| {
        let asks = "state->so_instance->ifc.getsockopt(state->so_instance->ifc.userdata, fd";
        let text = text.replace("getsockopt(fd, level, opt_name", &format!("{asks}, level, opt_name"));
        text.replacen("#include \"code.h\"", "#include \"code.h\"\n#include \"so_testing.h\"", 1)
    })?;
    edit(&source.join("config.c"), |text| text.replace("/usr/bin/python\"", "python3\""))?;
    edit(&source.join("run_system_call.c"), |text| text.replace(SENDS_FILE, SENDS_FILE_HERE))?;
    edit(&source.join("Makefile.Linux"), |text| text.replace("-lpthread", "-lcrypto -lpthread"))?;
    let hashes = source.join("mptcp_utils.c");
    if !hashes.is_file() {
        return built(&source).map(|()| copy);
    }
    edit(&hashes, |text| {
        let prototype = "extern int pathweave_hash(const char *, const u8 *, size_t, size_t, const u8 *[], const size_t *, \
                         u8 *, size_t);\n#define linux_af_alg_hash_vector pathweave_hash\n\nint sha1_vector(";
        let unused = "__attribute__((unused)) static int hash_of_the_kernel(";
        text.replacen("static int linux_af_alg_hash_vector(", unused, 1).replacen("int sha1_vector(", prototype, 1)
    })?;
    fs::copy(root().join("interop/packetdrill/hash.c"), source.join("hash_openssl.c")).map_err(|e| e.to_string())?;
    built(&source).map(|()| copy)
}

fn built(source: &Path) -> Result<(), String> {
    capture(Command::new("sh").arg("configure").current_dir(source))?;
    capture(Command::new("make").arg("packetdrill").current_dir(source)).map(drop)
}

/// Removes the data sequence signal that scripts of 2021 expect beside an ADD_ADDR on an acknowledgement. Kernels since
/// Linux 5.13, and the engine, send the option alone.
fn announcement_alone(line: &str) -> String {
    let direction = line.trim_start_matches(|c: char| c.is_ascii_digit() || "+. \t".contains(c));
    match line.split_once(", dss ") {
        Some((before, _)) if direction.starts_with('>') && before.contains("add_address ") => format!("{before}>"),
        _ => line.to_owned(),
    }
}

/// Runs one script.
fn one(copy: &Path, script: &Path) -> Result<(), String> {
    let lines = target().join("packetdrill").join(name(copy, script).replace('/', "_") + ".lines");
    fs::write(&lines, "").map_err(|e| format!("{}: {e}", lines.display()))?;
    let programs = target().join("packetdrill/programs");
    let path = std::env::var("PATH").unwrap_or_default();
    let library = target().join("release/libpathweave_packetdrill.so");
    // A script whose library waits for ever is ended; all others take a second at most.
    let mut command = program("timeout", "20");
    command
        .arg(copy.join("gtests/net/packetdrill/packetdrill"))
        .arg(format!("--so_filename={}", library.display()))
        .args(["--send_omit_free", "--ip_version=ipv4", "--local_ip=192.168.0.2", "--gateway_ip=192.168.0.1"])
        .args(["--netmask_ip=255.255.0.0", "--remote_ip=192.0.2.1/24"])
        .arg(script.file_name().unwrap_or_default())
        .current_dir(script.parent().unwrap_or(copy))
        .env("PATH", format!("{}:{path}", programs.display()))
        .env("PATHWEAVE_PACKETDRILL_LINES", &lines)
        .stdin(Stdio::null());
    let output = command.output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let said: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(3).collect();
    Err(if said.is_empty() { output.status.to_string() } else { said.join(" | ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_engine_sends_is_changed() {
        let sent = "+0.0  >  .  1:1(0)  ack 1  <add_address addr[a] hmac=auto, dss dack4=1 nocs>";
        assert_eq!(announcement_alone(sent), "+0.0  >  .  1:1(0)  ack 1  <add_address addr[a] hmac=auto>");
        for other in [sent.replace("  >  ", "  <  "), sent.replace("add_address", "mp_prio"), String::new()] {
            assert_eq!(announcement_alone(&other), other);
        }
    }
}
