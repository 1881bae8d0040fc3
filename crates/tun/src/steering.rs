//! Chooses the processor that handles packets written to a device.

use crate::Device;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Processors in each comma-separated group of a mask in `/sys`.
const GROUP: usize = 32;

/// The processor that handles packets written to our devices, by Linux's receive packet steering (RPS). Without
/// steering, the kernel does all work of the receiver within the call that writes the packet.
///
/// All devices use the same processor, so that the packets of several subflows stay in order. The writing thread must
/// stay away from it: Linux moves a program to the processor that handles its packets, and then both would share one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakenUpBy {
    processor: usize,
}

impl TakenUpBy {
    /// Chooses a processor that this thread may use, a different one for each process in turn. `None` if there is only
    /// one.
    pub(crate) fn choose() -> Option<TakenUpBy> {
        let allowed = sched_getaffinity(None).ok()?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
        let processor = allowed[std::process::id() as usize % allowed.len().max(1)];
        (allowed.len() > 1).then_some(TakenUpBy { processor })
    }

    /// Makes this processor handle packets written to `device`. Returns false if `/sys` does not show the devices of
    /// this network namespace.
    ///
    /// # Errors
    /// If the kernel refuses, most often because `/sys` is read-only.
    pub(crate) fn steer(self, device: &Device, name: &str) -> io::Result<bool> {
        let folder = format!("/sys/class/net/{name}");
        let is_the_device = std::fs::read_to_string(format!("{folder}/ifindex"))
            .is_ok_and(|index| index.trim().parse().ok() == device.index().ok());
        if is_the_device {
            std::fs::write(format!("{folder}/queues/rx-0/rps_cpus"), mask(self.processor))?;
        }
        Ok(is_the_device)
    }

    /// Keeps this thread off the processor until the returned value is dropped.
    pub(crate) fn stay_away(self) -> Option<Away> {
        let before = sched_getaffinity(None).ok()?;
        let mut others = before;
        others.unset(self.processor);
        sched_setaffinity(None, &others).ok()?;
        Some(Away { before })
    }
}

/// Keeps a thread off a processor; dropping it lifts this.
pub(crate) struct Away {
    before: CpuSet,
}

impl Drop for Away {
    fn drop(&mut self) {
        // If the thread may not use these processors any more, it keeps its present ones.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// One processor as a mask: hexadecimal, the highest processors first.
fn mask(processor: usize) -> String {
    format!("{:x}{}", 1u32 << (processor % GROUP), ",00000000".repeat(processor / GROUP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_digit_for_four_processors_and_a_comma_for_32() {
        assert_eq!(mask(0), "1");
        assert_eq!(mask(1), "2");
        assert_eq!(mask(31), "80000000");
        assert_eq!(mask(32), "1,00000000");
        assert_eq!(mask(69), "20,00000000,00000000");
    }

    #[test]
    fn a_thread_stays_away_from_a_processor_and_may_come_back() {
        let Some(taken_up_by) = TakenUpBy::choose() else {
            return println!("there is only one processor");
        };
        let may = || sched_getaffinity(None).is_ok_and(|allowed| allowed.is_set(taken_up_by.processor));
        assert!(may());
        let away = taken_up_by.stay_away();
        assert!(away.is_some() && !may());
        drop(away);
        assert!(may());
    }
}
