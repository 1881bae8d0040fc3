//! The packet schedulers. To add one: a file in this folder, its `pub mod` here, and a line in
//! [`Registry::builtin`](crate::Registry::builtin).

pub mod bas;
pub mod blest;
pub mod blest_kernel;
pub mod blind_roundrobin;
pub mod cp;
pub mod daf;
pub mod daps;
pub mod daps_two_path;
pub mod dems;
pub mod dpsaf;
pub mod ecf;
pub mod ecf_kernel;
pub mod edpf;
pub mod forward;
pub mod fpdps;
pub mod fps;
pub mod fps_daf;
pub mod hsr;
pub mod lamps;
pub mod linux;
pub mod linux_early;
pub mod lts;
pub mod lws;
pub mod minrtt;
pub mod otias;
pub mod otias_kernel;
pub mod redundant;
pub mod rems;
pub mod roundrobin;
pub mod single;
pub mod weave;
pub mod weighted_roundrobin;

#[cfg(test)]
mod tests {
    use crate::Registry;
    use pathweave_scheduler::properties;

    #[test]
    fn every_scheduler_keeps_the_rules_and_delivers() {
        Registry::builtin().schedulers().iter().for_each(|factory| properties::holds(factory.as_ref()));
    }
}
