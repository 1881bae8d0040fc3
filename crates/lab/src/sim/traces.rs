//! Reads and generates the traces of a scenario's links.
//!
//! The two directions of a link share one clock, because their files were recorded together. Both files start at the
//! same offset, which the seed chooses. Both start over together, after the longer one; until then, the shorter one
//! plays again from its start. So an event that is at one time in both files is at one time in each run.

use super::error::BuildError;
use crate::scenario::{Files, Link, LinkChange, LinkSettings, Rate, Scenario, TraceSource, TraceStart};
use pathweave_netsim::{LinkConfig, Shaper, Trace};
use pathweave_units::Duration;
use pathweave_units::random::Random;
use std::collections::BTreeMap;

/// Bytes of an Ethernet header. mahimahi's 1500-byte opportunities carry IP packets without one.
const ETHERNET_BYTES: i32 = 14;

/// Makes the traces of the links, one link after the other.
pub(super) struct Traces<'a> {
    seed: u64,
    start: TraceStart,
    files: &'a dyn Files,
    /// The files that were read, each once.
    read: BTreeMap<String, Trace>,
    /// For each time at which files start on the link, the length of the longest of them.
    lengths: BTreeMap<Duration, Duration>,
}

impl<'a> Traces<'a> {
    pub(super) fn new(scenario: &Scenario, seed: u64, files: &'a dyn Files) -> Self {
        Traces { seed, start: scenario.trace_start, files, read: BTreeMap::new(), lengths: BTreeMap::new() }
    }

    /// Continues with the next link, given its directions.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(super) fn begin(&mut self, directions: &[Link]) -> Result<(), BuildError> {
        self.lengths.clear();
        for link in directions {
            let changed = link.changes.iter().filter_map(|change| match &change.change {
                LinkChange::Shaper(rate) => Some((change.at, rate)),
                _ => None,
            });
            for (at, rate) in [(Duration::ZERO, &link.settings.shaper)].into_iter().chain(changed) {
                let Rate::Trace(TraceSource::File(name)) = rate else { continue };
                let length = self.file(&link.name, name)?.period();
                let longest = self.lengths.entry(at).or_default();
                *longest = length.max(*longest);
            }
        }
        Ok(())
    }

    /// The file called `name`, which `link` names.
    fn file(&mut self, link: &str, name: &str) -> Result<&Trace, BuildError> {
        if !self.read.contains_key(name) {
            let text = self.files.read(name).map_err(|e| error(link, format!("{name}: {e}")))?;
            let trace = Trace::parse(&text).map_err(|e| error(link, format!("{name}: {e}")))?;
            self.read.insert(name.to_owned(), trace);
        }
        Ok(&self.read[name])
    }

    /// The trace that starts on `link` at a time.
    ///
    /// # Errors
    /// If a file cannot be read, or if a trace cannot be generated.
    pub(super) fn trace(&mut self, link: &str, at: Duration, source: TraceSource) -> Result<Trace, BuildError> {
        match source {
            TraceSource::File(name) => {
                let length = self.lengths.get(&at).copied();
                let trace = self.file(link, &name)?;
                let length = length.unwrap_or(trace.period());
                let trace = trace.lasting(length).map_err(|e| error(link, format!("{name}: {e}")))?;
                Ok(match self.start {
                    TraceStart::Beginning => trace,
                    TraceStart::Seeded => trace.rotated(length.mul_f64(self.part(link))),
                })
            }
            TraceSource::Cellular { model, seed } => {
                let seed = seed.map_or(self.seed, u64::from);
                let mut random = Random::substream(seed, &format!("{link}/cellular"));
                model.generate(&mut random).map_err(|e| error(link, e.to_string()))
            }
        }
    }

    /// The fraction of the longest file, from 0 to 1, at which a link's files start. It is the same for both
    /// directions.
    fn part(&self, link: &str) -> f64 {
        let link = link.rsplit_once('.').map_or(link, |(link, _)| link);
        Random::substream(self.seed, &format!("{link}/trace start")).unit()
    }

    /// The network's settings of a link at the start.
    ///
    /// # Errors
    /// As for [`Traces::trace`].
    pub(super) fn config(&mut self, link: &str, settings: LinkSettings) -> Result<LinkConfig, BuildError> {
        let config = settings.try_map_trace(|source| self.trace(link, Duration::ZERO, source))?;
        let overhead_bytes = match config.shaper {
            Shaper::Trace(_) => (config.overhead_bytes - ETHERNET_BYTES).max(0),
            _ => config.overhead_bytes,
        };
        Ok(LinkConfig { overhead_bytes, ..config })
    }
}

fn error(link: &str, message: String) -> BuildError {
    BuildError { place: link.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Document, Variant};
    use pathweave_algorithms::Registry;

    /// The file `N` is a trace of `N` seconds with an opportunity in each millisecond, except for two seconds from 21 s
    /// on.
    struct Outage;

    impl Files for Outage {
        fn read(&self, name: &str) -> Result<String, String> {
            let seconds: u32 = name.parse().map_err(|_| "no length")?;
            let times = (1..=seconds * 1000).filter(|ms| !(21_000..23_000).contains(ms));
            Ok(times.map(|ms| format!("{ms}\n")).collect())
        }
    }

    /// The traces of both directions of a path at the start, and those set by a change after 5 s.
    fn traces(settings: &str, seed: u64) -> [[Trace; 2]; 2] {
        let text = format!("format = 1\nname = \"x\"\nduration = \"200s\"\n[[path]]\ndelay = \"5ms\"\n{settings}\n");
        let document = Document::parse("x.toml", &text).expect("it is TOML");
        let scenario = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is a scenario");
        let mut traces = Traces::new(&scenario, seed, &Outage);
        traces.begin(&scenario.links).expect("the files are there");
        [Duration::ZERO, Duration::from_secs(5)].map(|at| {
            [0, 1].map(|direction| {
                let link = &scenario.links[direction];
                let changed = link.changes.iter().find_map(|change| match &change.change {
                    LinkChange::Shaper(rate) if change.at == at => Some(rate),
                    _ => None,
                });
                let Rate::Trace(source) = changed.unwrap_or(&link.settings.shaper) else { panic!("no trace") };
                traces.trace(&link.name, at, source.clone()).expect("the file is there")
            })
        })
    }

    /// Begins of the outages in the first 200 s, in milliseconds.
    fn outages(trace: &Trace) -> Vec<u64> {
        let period = trace.period().as_millis();
        let periods = (0..=200_000 / period).map(|n| n * period);
        let times: Vec<u64> =
            periods.flat_map(|start| trace.millis().iter().map(move |ms| start + u64::from(*ms))).collect();
        times.windows(2).filter(|pair| pair[1] - pair[0] > 1000 && pair[0] < 200_000).map(|pair| pair[0]).collect()
    }

    #[test]
    fn what_happens_at_one_time_in_both_files_happens_at_one_time_in_each_run() {
        for seed in 1..=20 {
            for (up, down) in [(60, 40), (40, 60), (60, 60), (47, 61)] {
                let text = format!(
                    "trace = \"{up}\"\ndown = {{ trace = \"{down}\" }}\n\
                     [[path.change]]\nat = \"5s\"\ndirection = \"up\"\ntrace = \"{up}\"\n\
                     [[path.change]]\nat = \"5s\"\ndirection = \"down\"\ntrace = \"{down}\""
                );
                for [up_trace, down_trace] in traces(&text, seed) {
                    let (there, back) = (outages(&up_trace), outages(&down_trace));
                    assert!(there.len() >= 3, "seed {seed}, {up} s and {down} s: {there:?}");
                    assert_eq!(there, back, "seed {seed}, {up} s and {down} s");
                }
            }
        }
    }

    /// Files of one length start at a fixed fraction of that length.
    #[test]
    fn files_of_one_length_start_after_the_same_part_of_it() {
        let [[up, down], _] = traces("trace = \"60\"\ndown = { trace = \"60\" }", 2);
        let whole = Trace::parse(&Outage.read("60").expect("it is made")).expect("it is a trace");
        let part = Random::substream(2, "path0/trace start").unit();
        let expected = whole.rotated(Duration::from_secs(60).mul_f64(part));
        assert_eq!((&up, &down), (&expected, &expected));
    }
}
