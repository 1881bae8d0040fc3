//! Which processor takes up what is written to a device.

use crate::Device;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::io;

/// Processors in a group of digits of a mask in `/sys`.
const GROUP: usize = 32;

/// Lets another processor than the writer's take up the packets of a device of ours, by Linux's receive packet steering (RPS): otherwise the kernel does
/// all that the receiver of a packet has to do within the call that writes it.
///
/// It is one processor for all devices, the last that this process may use, so that the packets of several subflows stay in their order.
/// False: there is only one processor, or `/sys` does not show the devices of this network namespace.
///
/// # Errors
/// Where the kernel does not take it, most often because `/sys` cannot be written to.
pub(crate) fn take_up_elsewhere(device: &Device, name: &str) -> io::Result<bool> {
    let allowed = sched_getaffinity(None)?;
    let mut allowed = (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor));
    let (Some(_), Some(last)) = (allowed.next(), allowed.next_back()) else { return Ok(false) };
    let folder = format!("/sys/class/net/{name}");
    let is_the_device = std::fs::read_to_string(format!("{folder}/ifindex"))
        .is_ok_and(|index| index.trim().parse().ok() == device.index().ok());
    if is_the_device {
        std::fs::write(format!("{folder}/queues/rx-0/rps_cpus"), mask(last))?;
    }
    Ok(is_the_device)
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
}
