//! Processor time of the process.

use rustix::time::{ClockId, clock_gettime};

/// Processor time of a process with all its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// Time in the program and in the kernel, nanoseconds.
    pub nanoseconds: u64,
    /// Time in the kernel, nanoseconds, measured in steps of 10 ms.
    pub system_nanoseconds: u64,
}

/// Unit of `/proc/self/stat` (`USER_HZ`).
const TICK_NANOSECONDS: u64 = 10_000_000;
/// Index of `stime` in `/proc/self/stat`, counted from the field after the program's name.
const SYSTEM_TIME: usize = 12;

impl Processor {
    /// Processor time of this process so far.
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        let ticks: u64 = fields.split(' ').nth(SYSTEM_TIME).and_then(|field| field.parse().ok()).unwrap_or(0);
        Processor {
            nanoseconds: time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64,
            system_nanoseconds: ticks * TICK_NANOSECONDS,
        }
    }

    /// Processor time between `before` and `self`.
    pub fn since(self, before: Processor) -> Self {
        let nanoseconds = self.nanoseconds.saturating_sub(before.nanoseconds);
        let system = self.system_nanoseconds.saturating_sub(before.system_nanoseconds);
        Processor { nanoseconds, system_nanoseconds: system.min(nanoseconds) }
    }

    /// Time in the program itself, nanoseconds.
    pub fn user_nanoseconds(self) -> u64 {
        self.nanoseconds - self.system_nanoseconds.min(self.nanoseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_in_the_kernel_is_a_part_of_it() {
        let before = Processor::now();
        let used = || Processor::now().since(before);
        // Reading /proc takes time in the kernel.
        while used().nanoseconds < 100_000_000 {}
        assert!(used().system_nanoseconds > 0, "{:?}", used());
        assert!(used().user_nanoseconds() < used().nanoseconds);
    }
}
