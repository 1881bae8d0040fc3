//! Why nothing arrived, what no scheduler does, and where the time went.

use super::Reader;
use super::oracle::By;
use super::patterns::{fits, rounds_to, value};
use super::random::PATHS;
use pathweave_lab::results::{RunResult, STARTS_AFTER_THE_END, Status};

/// The parts of the time that may be a reason.
const REASONS: [fn(&RunResult) -> f64; 2] = [|r| r.metrics.time.window_full_s, |r| r.metrics.time.scheduler_waits_s];

impl Reader<'_> {
    /// Takes off `With this seed`, and writes `No scheduler` for what is said of those that ran. Returns whether one seed is said to show it.
    pub(super) fn plain(&mut self, text: &str) -> (String, bool) {
        let by_one_seed = text.starts_with("With this seed ");
        let text = text.strip_prefix("With this seed ").unwrap_or(text);
        if by_one_seed {
            self.saw("by this seed");
        }
        let nobody = r"^(?:[Nn]o scheduler( that ran| measured)?|[Nn]one of the ([0-9]+)( that ran| measured)) ";
        let Some(said) = fits(nobody, text) else { return (text.to_owned(), by_one_seed) };
        let runs = self.case.schedulers().len();
        let planned = self.case.planned.schedulers.iter().filter(|s| !s.starts_with("tcp-"));
        let absent: Vec<&String> = planned.filter(|s| self.case.measured(s).is_empty()).collect();
        let word = format!("{}{}", said.get(1), said.get(3));
        let expected = match absent.iter().any(|s| !self.case.runs(s).is_empty()) {
            _ if absent.is_empty() => "",
            true => " measured",
            false => " that ran",
        };
        assert_eq!(word, expected, "{text}: {absent:?}");
        assert!(said.get(2).is_empty() || said.get(2).parse() == Ok(runs), "{text}");
        assert_eq!(said.get(2).is_empty(), absent.is_empty() || runs == 1, "{text}");
        if !absent.is_empty() {
            self.saw("none that ran");
        }
        (format!("No scheduler {}", said.rest()), by_one_seed)
    }

    /// Why no run has any data in the measured time.
    pub(super) fn nothing(&mut self, text: &str) {
        let (schedulers, tcp) = (self.case.schedulers(), self.case.plain_tcp());
        let all = || schedulers.iter().chain(&tcp);
        let mut runs = all().flat_map(|s| self.case.measured(s));
        let late = runs.all(|r| r.reason.as_deref() == Some(STARTS_AFTER_THE_END));
        assert!(all().all(|s| self.case.goodput(s) == 0.0), "{text}");
        if all().any(|s| self.case.received(s)) {
            let before = "Nothing arrived within the measured time: all that arrived came before it (measure_from).";
            assert_eq!(text, before);
            return self.saw("all before");
        }
        let rest = text.strip_prefix("Nothing arrived: ").expect(text);
        let (plain, by_one_seed) = self.plain(rest);
        let said = fits(
            r"^No scheduler delivered a byte(, and plain TCP did not either)?( on any path)?\. (The measured connections start after the run's end \(start, duration\)|The paths may be down, or lose everything)\.$",
            &plain,
        )
        .expect(text);
        assert_eq!((by_one_seed, said.get(1).is_empty()), (false, tcp.is_empty()), "{text}");
        assert!(said.get(2).is_empty() || tcp.len() == 2, "{text}");
        assert_eq!(said.get(3).contains("start after"), late, "{text}");
        self.saw(if late { "starts late" } else { "nothing arrived" });
    }

    /// No run came to its end.
    pub(super) fn no_transfer(&mut self, text: &str) -> bool {
        let pattern = r"^No transfer finished: ([0-9]+) of ([0-9]+) runs? stalled, so goodput decides\.$";
        let Some(said) = fits(pattern, text) else { return false };
        let measured: Vec<&RunResult> = self.case.results.iter().filter(|r| r.status != Status::Failed).collect();
        assert!(measured.iter().all(|r| r.status == Status::Stalled && r.metrics.completion_s.is_none()), "{text}");
        assert_eq!((said.number(1), said.number(2)), (measured.len(), measured.len()), "{text}");
        self.saw("no transfer");
        true
    }

    /// Plain TCP on a backup, if that is better than plain TCP on the other path.
    fn better_backup(&self) -> Option<&str> {
        let usable = *self.case.best_plain_tcp().first()?;
        let all = self.case.plain_tcp();
        let other = all.into_iter().find(|s| *s != usable && self.case.measured(s)[0].is_on_backup())?;
        let usable_is_backup = self.case.measured(usable)[0].is_on_backup();
        (!usable_is_backup && !self.case.is_better(usable, other)).then_some(other)
    }

    /// Whether plain TCP on a backup is better than plain TCP on the other path and than every scheduler.
    pub(super) fn is_behind_backup(&self, best: &str) -> bool {
        let usable = self.case.best_plain_tcp();
        self.better_backup().is_some_and(|backup| {
            self.case.is_better(backup, usable[0])
                && self.case.mean(best).is_some()
                && self.must_lead_with_tcp(best, &[backup])
        })
    }

    /// Plain TCP on a backup is better than all.
    pub(super) fn behind_backup(&mut self, text: &str) -> bool {
        if !text.contains(", which is a backup: that ") {
            return false;
        }
        let (plain, by_one_seed) = self.plain(text);
        let pattern =
            r"^(?:No scheduler is|.* (?:is|are) not) as good as (plain TCP on [a-z0-9]+), which is a backup: that ";
        let said = fits(pattern, &plain).expect(text);
        assert_eq!(by_one_seed, self.case.has_one_seed(), "{text}");
        let tcp = self.case.named(said.get(1));
        assert_eq!(self.better_backup(), Some(tcp), "{text}");
        let schedulers = self.case.schedulers();
        let best = schedulers.iter().find(|s| !schedulers.iter().any(|other| self.case.is_better(other, s)));
        assert!(self.must_lead_with_tcp(best.expect(text), &[tcp]), "{text}");
        let (value, rest) = value(said.rest()).expect(text);
        self.value(tcp, &value, text);
        assert_eq!(rest, ".", "{text}");
        self.saw("behind a backup");
        true
    }

    /// What takes more of the time than with plain TCP: 15 % of it, and what is missing of the goodput or the completion time.
    pub(super) fn culprit(&self, scheduler: &str, text: &str) {
        let whole = |r: &RunResult| r.metrics.time.total_s();
        let mean = |s: &str, part: &dyn Fn(&RunResult) -> f64| {
            let runs = self.case.measured(s);
            runs.iter().map(|r| part(r)).sum::<f64>() / runs.len() as f64
        };
        let fraction = |s: &str, part: &dyn Fn(&RunResult) -> f64| match mean(s, &whole) {
            0.0 => 0.0,
            all => mean(s, part) / all,
        };
        let more = |tcp: &str, part: &dyn Fn(&RunResult) -> f64| fraction(scheduler, part) - fraction(tcp, part);
        let best = self.case.best_plain_tcp();
        let missing = self.case.differences(scheduler, best[0]).map_or(0.0, |d| match self.case.by() {
            By::Goodput => -d.mean() / d.base,
            By::Completion => d.mean() / (d.base + d.mean()),
            By::Delay => 0.0,
        });
        let least = missing.max(0.15) - 1e-9;
        let patterns = [
            r"^The receive window was full for ([0-9.]+) of ([0-9.]+) s, and for [0-9.]+ s of that the missing data was on [a-z0-9]+$",
            r"^The scheduler waited for ([0-9.]+) of ([0-9.]+) s although it could send$",
        ];
        let all = mean(scheduler, &whole);
        for (part, pattern) in REASONS.iter().zip(patterns) {
            let Some(said) = fits(pattern, text) else { continue };
            assert!(rounds_to(said.get(1), mean(scheduler, part)) && rounds_to(said.get(2), all), "{text}: {all}");
            assert!(best.iter().any(|tcp| more(tcp, part) >= least), "{text}: {least}");
            let is_largest = |tcp: &str| REASONS.iter().all(|other| more(tcp, other) <= more(tcp, part));
            assert!(best.iter().any(|tcp| is_largest(tcp)), "{text}");
            return;
        }
        let said = fits(r"^([a-z0-9]+) was repairing losses for ([0-9.]+) of ([0-9.]+) s$", text)
            .unwrap_or_else(|| panic!("no such reason: {text}"));
        let path = PATHS.iter().position(|p| *p == said.get(1)).expect(text);
        let part = |r: &RunResult| r.metrics.time.recovery_by_path_s[path];
        assert!(rounds_to(said.get(2), mean(scheduler, &part)) && rounds_to(said.get(3), all), "{text}");
        assert!(more(&format!("tcp-path{path}"), &part) >= least, "{text}: {least}");
    }
}
