//! Checks that the runs contradict no sentence of a verdict.
//!
//! Verdicts of random results are parsed with patterns. A sentence that fits no pattern fails the test. So does a
//! sentence whose names, counts, amounts, percentages or words ("best", "significant", "exactly", "within 1 %", "worse
//! than one") differ from what the [`oracle`] finds in the single runs.

mod oracle;
mod parts;
mod patterns;
mod random;
mod reasons;

use oracle::By;
use pathweave_lab::results::Status;
use pathweave_report::{Comparison, Tone, Verdict, verdict};
use patterns::{fits, listed};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use random::{Case, case};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Number of random comparisons.
const CASES: u32 = 3000;

#[test]
fn no_sentence_is_contradicted_by_its_runs() {
    let seen = RefCell::new(BTreeSet::new());
    let config = Config { cases: CASES, max_shrink_iters: 300, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let found = runner.run(&case(), |case| {
        let comparison = Comparison::all(&case.results, std::slice::from_ref(&case.planned), None).remove(0);
        let Some(verdict) = verdict(&comparison) else {
            assert!(case.planned.schedulers.iter().all(|s| s.starts_with("tcp-")), "nothing is said");
            return Ok(());
        };
        Reader { case: &case, verdict: &verdict, seen: &mut seen.borrow_mut() }.read();
        Ok(())
    });
    if let Err(error) = found {
        panic!("{error}");
    }
    let missing: Vec<_> = KINDS.iter().filter(|kind| !seen.borrow().contains(*kind)).collect();
    assert!(missing.is_empty(), "never said, so never checked: {missing:?}");
}

/// Every kind of sentence and part of a sentence.
const KINDS: [&str; 48] = [
    "stopped",
    "never run",
    "lacks seeds",
    "failed in part",
    "failed",
    "no measurement",
    "nothing arrived",
    "all before",
    "starts late",
    "no byte in time",
    "none that ran",
    "no transfer",
    "behind a backup",
    "not the best",
    "best of the whole",
    "only whole",
    "different seeds",
    "by this seed",
    "no byte",
    "goodput decides",
    "short",
    "best",
    "alone",
    "same",
    "behind",
    "alone behind",
    "less often",
    "none finishes",
    "exactly",
    "not significant",
    "practically",
    "more",
    "less",
    "one seed",
    "every seed",
    "with seeds",
    "linux first",
    "delays",
    "longest of all",
    "near",
    "unclear",
    "one path",
    "equal",
    "equal most",
    "equal worst",
    "for example",
    "worse than one",
    "with this seed",
];

/// Checks one verdict against its runs.
struct Reader<'a> {
    case: &'a Case,
    verdict: &'a Verdict,
    seen: &'a mut BTreeSet<&'static str>,
}

impl Reader<'_> {
    fn saw(&mut self, kind: &'static str) {
        assert!(KINDS.contains(&kind), "{kind} is not in the list");
        self.seen.insert(kind);
    }

    fn read(&mut self) {
        let mut missing = self.verdict.missing.iter();
        if self.case.results.len() < self.all_planned() {
            self.stopped(missing.next().expect("a comparison that was stopped says so"));
        }
        let failing = missing.map(|sentence| self.failed(sentence)).collect::<Vec<_>>();
        let with_failures = |s: &&String| self.case.runs(s).len() > self.case.measured(s).len();
        let expected: BTreeSet<String> = self.case.planned.schedulers.iter().filter(with_failures).cloned().collect();
        assert_eq!(failing.into_iter().collect::<BTreeSet<_>>(), expected, "all that failed are named");
        self.answer();
        self.tone();
    }

    fn all_planned(&self) -> usize {
        self.case.planned.schedulers.len() * self.case.planned.seeds
    }

    fn stopped(&mut self, text: &str) {
        let planned = self.case.planned.seeds;
        let runs = |s: &String| self.case.runs(s).len();
        let all = || self.case.planned.schedulers.iter();
        let never: BTreeSet<String> = all().filter(|s| runs(s) == 0).map(|s| label(s, self.case)).collect();
        let some: BTreeSet<(String, usize)> =
            all().filter(|s| runs(s) > 0 && runs(s) < planned).map(|s| (label(s, self.case), runs(s))).collect();
        let said = fits(r"^Stopped early: ([0-9]+) of ([0-9]+) runs? (?:is|are) finished\.(?: Never run: ([^.]*)\.)?((?: With [0-9]+ of [0-9]+ seeds? only: [^.]*\.)*)$", text).expect(text);
        assert_eq!((said.number(1), said.number(2)), (self.case.results.len(), self.all_planned()), "{text}");
        assert_eq!(listed(said.get(3)).0.into_iter().collect::<BTreeSet<_>>(), never, "{text}");
        let mut found = BTreeSet::new();
        for group in said.get(4).split(" With ").skip(1) {
            let group = fits(r"^([0-9]+) of ([0-9]+) seeds? only: ([^.]*)\.$", group).expect(group);
            assert_eq!(group.number(2), planned, "{text}");
            found.extend(listed(group.get(3)).0.into_iter().map(|name| (name, group.number(1))));
        }
        assert_eq!(found, some, "{text}");
        self.saw("stopped");
        if !never.is_empty() {
            self.saw("never run");
        }
        if !some.is_empty() {
            self.saw("lacks seeds");
        }
    }

    /// Returns the name of the scheduler that failed.
    fn failed(&mut self, text: &str) -> String {
        let said = fits(r"^([^ ]+)(?: \([^)]*\))? failed in ([0-9]+) of ([0-9]+) runs?: (.*)\. (?:(It is left out)|Its numbers are of the other (one|[0-9]+)(, and it is not called the best)?)\.$", text).expect(text);
        let (name, all) = (said.get(1).to_owned(), self.case.runs(said.get(1)));
        let failed = all.iter().filter(|r| r.status == Status::Failed).count();
        assert_eq!((said.number(2), said.number(3)), (failed, all.len()), "{text}");
        assert!(all.iter().any(|r| r.reason.as_deref() == Some(said.get(4))), "{text}");
        let left = all.len() - failed;
        let word = if left == 1 { "one".to_owned() } else { left.to_string() };
        assert_eq!((said.get(5).is_empty(), said.get(6)), (left > 0, if left > 0 { &word } else { "" }), "{text}");
        let lacking = left > 0 && self.case.lacking(&name) > 0;
        assert_eq!(!said.get(7).is_empty(), lacking, "{text}");
        if lacking {
            self.saw("not the best");
        }
        self.saw(if left > 0 { "failed in part" } else { "failed" });
        name
    }

    fn answer(&mut self) {
        let schedulers = self.case.schedulers();
        let asked = self.case.planned.schedulers.iter().any(|s| !s.starts_with("tcp-"));
        let (mut best, mut worse_is_said, mut backup_is_said, mut goodput_decides) = (None, false, false, false);
        for sentence in &self.verdict.answer {
            let dark = |s: &&str| self.case.goodput(s) == 0.0;
            match sentence.as_str() {
                "No scheduler has a measurement." => {
                    assert!(asked && schedulers.is_empty());
                    self.saw("no measurement");
                }
                "No run delivers what is offered, so goodput decides." => {
                    assert!(self.case.results.iter().any(|r| r.metrics.undelivered_messages.is_some()));
                    assert_eq!(self.case.by(), By::Goodput);
                    goodput_decides = true;
                    self.saw("goodput decides");
                }
                text if self.no_transfer(text) => goodput_decides = true,
                text if self.behind_backup(text) => backup_is_said = true,
                text if text.contains(" delivered a byte") && !text.starts_with("Nothing") => {
                    let (plain, one_seed) = self.plain(text);
                    let said = fits(
                        "^No scheduler delivered a byte( within the measured time)?, although plain TCP did.$",
                        &plain,
                    );
                    let received = schedulers.iter().any(|s| self.case.received(s));
                    assert_eq!(!said.expect(text).get(1).is_empty(), received, "{text}");
                    assert!(!one_seed && schedulers.iter().all(dark) && !self.case.plain_tcp().iter().all(dark));
                    self.saw(if received { "no byte in time" } else { "no byte" });
                }
                text if text.starts_with("Nothing arrived") => self.nothing(text),
                text if self.short(text)
                    || self.delays(text, best.as_deref())
                    || self.one_path(text, best.as_deref()) => {}
                text if self.as_good(text, best.as_deref()) => {}
                text if self.worse(text) => worse_is_said = true,
                text => best = Some(self.lead(text)),
            }
        }
        let silent = schedulers.iter().all(|s| self.case.goodput(s) == 0.0);
        assert!(schedulers.is_empty() || silent || best.is_some(), "there is an answer");
        let tcp = self.case.plain_tcp();
        let all_dark = silent && self.case.plain_tcp().iter().all(|s| self.case.goodput(s) == 0.0);
        let stalled = |s: &&str| self.case.measured(s).iter().all(|r| r.status == Status::Stalled);
        let measured = || schedulers.iter().chain(&tcp);
        let messages =
            measured().any(|s| self.case.measured(s).iter().any(|r| r.metrics.undelivered_messages.is_some()));
        let decides = self.case.by() == By::Goodput && (messages || measured().all(stalled));
        assert_eq!(goodput_decides, !schedulers.is_empty() && !silent && decides, "{}", self.verdict);
        let ahead = best.is_some_and(|best| self.is_behind_backup(&best)) && !silent;
        assert!(backup_is_said || !ahead, "{}", self.verdict);
        assert!(self.verdict.tone != Tone::Good || !(backup_is_said || goodput_decides), "{}", self.verdict);
        assert_eq!(worse_is_said, !all_dark && !self.worse_than_one().0.is_empty(), "{}", self.verdict);
    }

    /// Checks the sentence about schedulers that do not deliver what is offered in every run.
    fn short(&mut self, text: &str) -> bool {
        let Some(said) = fits(r"^(.*) (?:does|do) not deliver what is offered in every run\.$", text) else {
            return false;
        };
        let short: BTreeSet<String> =
            self.case.schedulers().into_iter().filter(|s| self.case.unfinished(s) > 0.0).map(str::to_owned).collect();
        let (names, more) = listed(said.get(1));
        assert!(self.case.by() == By::Delay && names.iter().all(|n| short.contains(n)), "{text}");
        assert_eq!(names.len() + more, short.len(), "{text}");
        self.saw("short");
        true
    }

    /// Checks the first sentence; returns the best scheduler.
    fn lead(&mut self, text: &str) -> String {
        let (text, by_one_seed) = self.plain(text);
        let text = text.as_str();
        if let Some(best) = self.none_finishes(text) {
            assert_eq!(by_one_seed, self.case.has_one_seed(), "{text}");
            return best;
        }
        let behind = concat!(
            r"^(?:No scheduler (?:reaches|is as fast as|finishes as often as|delivers what is offered as often as) ",
            r"(?P<tcp>plain TCP on [a-z0-9]+): (?:the best of the (?P<all>[0-9]+)(?P<whole> with all measured seeds)?, (?P<name>[^ ,]+), ",
            r"|the best of the (?P<alls>[0-9]+)(?P<wholes> with all measured seeds)? are (?P<names>[^;]+); each |(?P<twins>[^;]+) do the same; each ",
            r"|(?P<only>[^;,]+), alone with all measured seeds, (?:each )?|(?P<uneven>[a-z]+(?: and [a-z]+| and [0-9]+ more)?) (?:each )?)",
            r"|(?P<one>[^ ]+) (?:does not reach|is slower than|does not finish as often as",
            r"|does not deliver what is offered as often as) (?P<tcp1>plain TCP on [a-z0-9]+): (?:it )?)",
        );
        if let Some(said) = fits(behind, text) {
            return self.behind(text, &said, by_one_seed);
        }
        let (bare, names) = self.subject(text, by_one_seed);
        let best = names.0[0].clone();
        let rest = self.compare(&best, None, &bare);
        let (value, tail) = patterns::value(&rest).expect(text);
        self.value(&best, &value, text);
        let fit = fits(r"^(?:; <with>)*(?:, <than>|; where both do, <than>)?(?:, while (plain TCP on [a-z0-9]+) does not (?:finish|deliver what is offered))?(?:; that is <than>)?(; none of those compared beats the scheduler of Linux)?\.$", &tail).unwrap_or_else(|| panic!("{text}\n{tail}"));
        if !fit.get(1).is_empty() {
            assert!(self.case.values(self.case.named(fit.get(1))).is_empty(), "{text}");
        }
        if !fit.get(2).is_empty() {
            let all = self.case.schedulers().into_iter().chain(self.case.best_plain_tcp());
            let beats = all.filter(|s| self.case.is_better(s, "linux")).collect::<Vec<_>>();
            assert!(
                beats.is_empty()
                    && self.case.whole().len() == self.case.schedulers().len()
                    && (best == "linux" || names.0.iter().any(|n| n == "linux") || names.1 > 0),
                "{text}"
            );
            self.saw("linux first");
        }
        let tcp = self.case.best_plain_tcp();
        assert!(!self.must_lead_with_tcp(&best, &tcp), "plain TCP is better than all, and that is not said: {text}");
        best
    }

    /// Whether every scheduler is behind plain TCP, and the best one clearly.
    fn must_lead_with_tcp(&self, best: &str, tcp: &[&str]) -> bool {
        let Some(tcp) = tcp.first() else { return false };
        let often = |s: &str| self.case.alone(s, tcp).first < self.case.alone(s, tcp).second;
        let mut all = self.case.schedulers().into_iter();
        match often(best) {
            true => !self.case.values(best).is_empty() && all.all(often),
            false => self.case.is_clearly_behind(best, tcp) && all.all(|s| self.case.is_behind(s, tcp)),
        }
    }

    /// Splits off the subject: the best schedulers, and the number of all.
    fn subject(&mut self, text: &str, by_one_seed: bool) -> (String, (Vec<String>, usize)) {
        let schedulers = self.case.schedulers();
        let (whole, is_even) = (self.case.whole().len(), self.case.whole().len() == schedulers.len());
        let several =
            r"^(.*?) (is|are) the best of the ([0-9]+) schedulers (compared|with all measured seeds): (?:it|each) ";
        let only = r"^(.*?) (?:is the only scheduler|are the only schedulers) with all measured seeds: (?:it|each) ";
        let different = r"^The schedulers have different seeds, and none is called the best\. (.*?): (?:it|each) ";
        let mut one_seed = self.case.has_one_seed();
        let (names, bare) = if let Some(said) = fits(several, text) {
            assert_eq!((said.number(3), said.get(4) == "compared"), (whole, is_even), "{text}");
            self.saw(if is_even { "best" } else { "best of the whole" });
            (listed(said.get(1)), said.rest().to_owned())
        } else if let Some(said) = fits(only, text) {
            let names = listed(said.get(1));
            assert!(!is_even && names.0.len() + names.1 == whole, "{text}");
            self.saw("only whole");
            (names, said.rest().to_owned())
        } else if let Some(said) = fits(different, text) {
            assert!(self.case.lacking(&listed(said.get(1)).0[0]) > 0, "{text}");
            self.saw("different seeds");
            (listed(said.get(1)), said.rest().to_owned())
        } else if let Some(said) = fits(r"^(.*?) are equally good: each ", text) {
            let names = listed(said.get(1));
            assert!(is_even && names.0.len() + names.1 == whole, "{text}");
            (names, said.rest().to_owned())
        } else if let Some(said) = fits(r"^(.*?) do the same: each ", text) {
            self.saw("same");
            (listed(said.get(1)), said.rest().to_owned())
        } else {
            let said = fits(r"^([^ ]+) ", text).expect(text);
            assert_eq!(schedulers, [said.get(1)], "{text}");
            one_seed = false;
            self.saw("alone");
            (listed(said.get(1)), said.rest().to_owned())
        };
        assert_eq!(by_one_seed, one_seed, "{text}");
        self.best(&names, text);
        (bare, names)
    }

    /// Checks that these schedulers are the best, and are all that have the same values.
    fn best(&mut self, (names, more): &(Vec<String>, usize), text: &str) {
        let schedulers = self.case.schedulers();
        let best = names[0].as_str();
        assert!(!schedulers.iter().any(|other| self.case.is_better(other, best)), "{text}");
        let equals = self.case.equals(best);
        assert!(names.iter().all(|n| equals.contains(&n.as_str())), "{text}");
        assert_eq!(names.len() + more, equals.len(), "{text}: {equals:?}");
        if equals.iter().any(|other| *other != best && !self.case.is_twin(other, best)) {
            self.saw("equal");
        }
    }

    /// Checks the predicate: `it delivers 7.5 Mbit/s`, or `it finishes in 2 of 3 runs`.
    fn value(&self, best: &str, value: &patterns::Value, text: &str) {
        match value {
            patterns::Value::Amount(word, amount) => {
                let expected = match self.case.by() {
                    By::Goodput => "delivers",
                    By::Completion => "takes",
                    By::Delay => "has a delay of",
                };
                assert_eq!(*word, expected, "{text}");
                assert_eq!(self.case.unfinished(best), 0.0, "{text}");
                let mean = self.case.mean(best).expect("a value");
                assert!(self.case.shows(amount, mean), "{text}: {mean}");
            }
            patterns::Value::Runs(some, all) => {
                let found = (self.case.values(best).len(), self.case.measured(best).len());
                assert_eq!((*some, *all), found, "{text}");
            }
        }
    }

    fn behind(&mut self, text: &str, said: &patterns::Said, by_one_seed: bool) -> String {
        let first =
            |names: &[&str]| names.iter().map(|n| said.named(n)).find(|n| !n.is_empty()).unwrap_or("").to_owned();
        let names = listed(&first(&["one", "name", "names", "twins", "only", "uneven"]));
        let tcp = self.case.named(&first(&["tcp", "tcp1"])).to_owned();
        let best = names.0[0].clone();
        self.best(&names, text);
        assert!(self.case.best_plain_tcp().contains(&tcp.as_str()), "{text}");
        assert!(self.must_lead_with_tcp(&best, &[tcp.as_str()]), "{text}");
        let all = first(&["all", "alls"]);
        let whole = self.case.whole().len();
        assert!(all.is_empty() || all.parse() == Ok(whole), "{text}");
        let is_even = whole == self.case.schedulers().len();
        assert!(all.is_empty() || first(&["whole", "wholes"]).is_empty() == is_even, "{text}");
        assert!(said.named("only").is_empty() || (!is_even && names.0.len() + names.1 == whole), "{text}");
        assert!(said.named("uneven").is_empty() || self.case.lacking(&best) > 0, "{text}");
        assert_eq!(by_one_seed, self.case.alone(&best, &tcp).seeds == 1, "{text}");
        let often = self.case.alone(&best, &tcp).first < self.case.alone(&best, &tcp).second;
        assert_eq!(text.contains(" as often as "), often, "{text}");
        let bare = self.compare(&best, Some(&tcp), said.rest());
        if bare != "<with>." {
            let (value, tail) = patterns::value(&bare).unwrap_or_else(|| panic!("{text}\n{bare}"));
            self.value(&best, &value, text);
            let fit = fits(r"^(?:, <than>|; where both do, <than>|; <with>)\.$", &tail);
            assert!(fit.is_some(), "{text}\n{tail}");
        }
        self.saw(match (often, said.named("one").is_empty()) {
            (true, _) => "less often",
            (false, true) => "behind",
            (false, false) => "alone behind",
        });
        best
    }

    fn none_finishes(&mut self, text: &str) -> Option<String> {
        let said = fits(
            r"^(?:No scheduler (?:finishes|delivers what is offered)|([^ ]+) does not (?:finish|deliver what is offered))(?:, while (plain TCP on [a-z0-9]+) (?:finishes|delivers what is offered) in ([0-9]+) of ([0-9]+) runs?)?\. (?:(?:It|Each) delivers? ([0-9.]+ [^ ]+)\.|Of the ([0-9]+) compared, (.*?) delivers? most, (?:each )?([0-9.]+ [^ ;]+?)(?:; (.*) (?:is|are) not significantly behind)?\.|([a-z0-9 ]+) delivers? ([0-9.]+ [^ ]+)\.)$",
            text,
        )?;
        let schedulers = self.case.schedulers();
        assert!(schedulers.iter().all(|s| self.case.values(s).is_empty()), "{text}");
        if !said.get(2).is_empty() {
            let tcp = self.case.named(said.get(2));
            let found = (self.case.values(tcp).len(), self.case.measured(tcp).len());
            assert_eq!((said.number(3), said.number(4)), found, "{text}");
        }
        let (best, amount) = match (said.get(6).is_empty(), said.get(10).is_empty()) {
            (true, true) => {
                // If the goodput of all reads the same, the largest is the best one's, and then the name decides.
                let is_twin = |s: &&&str| schedulers.iter().take_while(|o| o != s).any(|o| self.case.is_twin(o, s));
                let by_goodput =
                    |a: &&&str, b: &&&str| self.case.goodput(b).total_cmp(&self.case.goodput(a)).then_with(|| a.cmp(b));
                let best = schedulers.iter().filter(|s| !is_twin(s)).min_by(by_goodput).expect(text);
                ((*best).to_owned(), said.get(5))
            }
            (true, false) => (listed(said.get(10)).0[0].clone(), said.get(11)),
            (false, _) => (listed(said.get(7)).0[0].clone(), said.get(8)),
        };
        let goodput = self.case.goodput(&best);
        let is_even = self.case.whole().len() == schedulers.len();
        assert_eq!(said.get(10).is_empty(), is_even, "{text}");
        assert!(!is_even || schedulers.iter().all(|s| self.case.goodput(s) <= goodput + 1e-9), "{text}");
        let number = amount.strip_suffix(" Mbit/s").expect(text);
        assert!(patterns::rounds_to(number, goodput), "{text}: {goodput}");
        if is_even {
            // All whose goodput reads the same are named, and all that the seeds do not tell from the best.
            let reads = |s: &&&str| patterns::rounds_to(number, self.case.goodput(s));
            let equals: Vec<&&str> = schedulers.iter().filter(reads).collect();
            let (names, more) = match said.get(7) {
                "" => (schedulers.iter().map(|s| (*s).to_owned()).collect(), 0),
                names => listed(names),
            };
            assert!(names.iter().all(|n| equals.contains(&&n.as_str())), "{text}");
            assert_eq!(names.len() + more, equals.len(), "{text}: {equals:?}");
            let is_close = |s: &&&str| !reads(s) && self.case.goodput_is_close(s, &best);
            let close: Vec<&&str> = schedulers.iter().filter(is_close).collect();
            let (names, more) = listed(said.get(9));
            assert!(names.iter().all(|n| close.contains(&&n.as_str())), "{text}");
            assert_eq!(names.len() + more, close.len(), "{text}: {close:?}");
            if equals.iter().any(|other| **other != best && !self.case.is_twin(other, &best)) {
                self.saw("equal most");
            }
        }
        self.saw("none finishes");
        Some(best)
    }

    /// Checks the tone against the differences.
    fn tone(&self) {
        let stopped = self.case.results.len() < self.all_planned();
        let mut tcp = self.case.best_plain_tcp().into_iter();
        let better = tcp.next().is_some_and(|tcp| {
            self.case.schedulers().iter().any(|s| {
                let alone = self.case.alone(s, tcp);
                let clear = alone.first > alone.second
                    || self
                        .case
                        .differences(s, tcp)
                        .is_some_and(|d| d.relative() > 0.01 && d.significant() == Some(true));
                alone.seeds > 1 && clear && !self.case.is_behind(s, tcp)
            })
        });
        if self.verdict.tone == Tone::Good {
            assert!(better && !stopped && !self.case.whole().is_empty(), "green without evidence: {}", self.verdict);
        }
    }
}

/// The name of a row: `tcp-path0 (wlan)`, if the results have the path's name.
fn label(scheduler: &str, case: &Case) -> String {
    match scheduler.strip_prefix("tcp-path").and_then(|p| p.parse::<usize>().ok()) {
        Some(path) if !case.results.is_empty() => format!("{scheduler} ({})", random::PATHS[path]),
        _ => scheduler.to_owned(),
    }
}
