//! Ends the checks if one of them hangs, together with all programs that they started.

use crate::run::program;
use std::collections::BTreeSet;
use std::time::Duration;

/// Waits in the background and ends this program after that time.
pub(crate) fn end_after(limit: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(limit);
        let minutes = limit.as_secs() / 60;
        println!("\n=== FAILED: timed out after {minutes} minutes; the last step printed above is the one that hangs");
        end_all(&descendants_of(std::process::id(), &parents()));
        std::process::exit(1);
    });
}

fn end_all(processes: &[u32]) {
    let numbers: Vec<String> = processes.iter().map(u32::to_string).collect();
    // Some may have ended by themselves meanwhile.
    let _ = program("sh", "-c").arg(format!("kill -KILL {}", numbers.join(" "))).status();
}

/// Each process with the one that started it, from `/proc`; none where there is no such thing.
fn parents() -> Vec<(u32, u32)> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| {
            let process: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The program's name, in parentheses, may contain blanks. The parent is the second field after it.
            let (_, fields) = stat.rsplit_once(") ")?;
            Some((process, fields.split(' ').nth(1)?.parse().ok()?))
        })
        .collect()
}

/// The processes that a process started, and those that these started.
fn descendants_of(process: u32, parents: &[(u32, u32)]) -> Vec<u32> {
    let mut found = BTreeSet::from([process]);
    loop {
        let before = found.len();
        let children: Vec<u32> =
            parents.iter().filter(|(_, parent)| found.contains(parent)).map(|(of, _)| *of).collect();
        found.extend(children);
        if found.len() == before {
            found.remove(&process);
            return found.into_iter().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_and_their_children_are_found() {
        let found = descendants_of(10, &[(13, 12), (12, 10), (11, 10), (20, 2), (10, 2)]);
        assert_eq!(found, [11, 12, 13]);
    }

    #[test]
    fn what_this_program_starts_is_found_and_ended() -> Result<(), String> {
        let mut child = program("sleep", "60").spawn().map_err(|e| e.to_string())?;
        let found = descendants_of(std::process::id(), &parents());
        assert!(found.contains(&child.id()) || !cfg!(target_os = "linux"));
        // Other tests' processes are not this one's to end.
        end_all(&[child.id()]);
        let status = child.wait().map_err(|e| e.to_string())?;
        assert!(!status.success());
        Ok(())
    }
}
