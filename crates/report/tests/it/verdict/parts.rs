//! Checks of the parts of sentences that compare, and of the sentences after the first.

use super::Reader;
use super::oracle::{By, Differences};
use super::patterns::{fits, listed, regex, rounds_to};
use regex::Captures;
use std::collections::BTreeSet;

const OTHER: &str = "plain TCP on [a-z0-9]+|linux|it";
const AMOUNT: &str = r"(under 0\.01|[0-9.]+) (Mbit/s|ms|s)";
const SETTLED: &str = "significant|the same with every seed|one seed: significance unknown";

impl Reader<'_> {
    /// Checks every comparison of `subject` in a text, and replaces it with `<than>` or `<with>`. `other` is the second
    /// row of a comparison that does not name one.
    pub(super) fn compare(&mut self, subject: &str, other: Option<&str>, text: &str) -> String {
        let mut text = text.to_owned();
        let with = r"with ([0-9]+) of ([0-9]+) seeds? (it|each|plain TCP on [a-z0-9]+) does not (?:finish|deliver what is offered), and (it|plain TCP on [a-z0-9]+) does";
        text = self.each(with, "<with>", &text, |reader, said| {
            let (own, tcp) = if ["it", "each"].contains(&&said[3]) { (true, &said[4]) } else { (false, &said[3]) };
            let alone = reader.case.alone(subject, reader.case.named(tcp));
            let times = if own { alone.second } else { alone.first };
            assert_eq!((said[1].parse(), said[2].parse()), (Ok(times), Ok(alone.seeds)), "{said:?}");
            reader.saw("with seeds");
        });
        let exactly = format!("exactly as (?:much|long) as ({OTHER}) with (every|this) seed");
        text = self.each(&exactly, "<than>", &text, |reader, said| {
            let differences = reader.against(subject, &said[1], other);
            assert!(differences.are_zero() && (&said[2] == "this") == (differences.all.len() == 1), "{said:?}");
            reader.saw("exactly");
        });
        let unclear =
            format!(r"not significantly more or less(?: than ({OTHER}))? \((-?[0-9.]+) ± ([0-9.]+) (Mbit/s|ms|s)\)");
        text = self.each(&unclear, "<than>", &text, |reader, said| {
            let differences = reader.against(subject, said.get(1).map_or("it", |m| m.as_str()), other);
            assert_eq!(differences.significant(), Some(false), "{said:?}");
            let scale = if reader.case.by() == By::Delay && &said[4] == "s" { 1e3 } else { 1.0 };
            assert!(rounds_to(&said[2], differences.mean() / scale), "{said:?}: {differences:?}");
            assert!(rounds_to(&said[3], differences.margin() / scale), "{said:?}: {differences:?}");
            reader.saw("not significant");
        });
        let level = format!(r"practically as (?:much|long) as ({OTHER}) \({AMOUNT} (more|less), ({SETTLED})\)");
        text = self.each(&level, "<than>", &text, |reader, said| {
            let differences = reader.against(subject, &said[1], other);
            assert!(differences.relative() <= 0.01 + 1e-9, "{said:?}: {differences:?}");
            reader.amount_and_words(&differences, (&said[2], &said[3], &said[4], &said[5]));
            reader.saw("practically");
        });
        let clear = format!(r"{AMOUNT}(?: \(([0-9]+) %\))? (more|less)(?: than ({OTHER}))? \(({SETTLED})\)");
        self.each(&clear, "<than>", &text, |reader, said| {
            let differences = reader.against(subject, said.get(5).map_or("it", |m| m.as_str()), other);
            assert!(differences.base == 0.0 || differences.relative() > 0.01 - 1e-9, "{said:?}: {differences:?}");
            if let Some(percent) = said.get(3) {
                assert!(rounds_to(percent.as_str(), differences.relative() * 100.0), "{said:?}: {differences:?}");
            }
            reader.amount_and_words(&differences, (&said[1], &said[2], &said[4], &said[6]));
        })
    }

    /// Checks each match of a pattern and replaces it with `instead`.
    fn each(&mut self, pattern: &str, instead: &str, text: &str, check: impl Fn(&mut Self, &Captures<'_>)) -> String {
        let regex = regex(pattern);
        regex.captures_iter(text).for_each(|said| check(self, &said));
        regex.replace_all(text, instead).into_owned()
    }

    fn against(&self, subject: &str, named: &str, other: Option<&str>) -> Differences {
        let other = if named == "it" { other.expect("something to compare with") } else { self.case.named(named) };
        self.case.differences(subject, other).expect("seeds with a value of both")
    }

    fn amount_and_words(&mut self, differences: &Differences, said: (&str, &str, &str, &str)) {
        let (number, unit, word, settled) = said;
        let amount = (number.to_owned(), unit.to_owned());
        assert!(self.case.shows(&amount, differences.mean().abs()), "{said:?}: {differences:?}");
        assert_eq!(word == "more", differences.mean() > 0.0, "{said:?}: {differences:?}");
        self.saw(if word == "more" { "more" } else { "less" });
        match settled {
            "significant" => assert_eq!(differences.significant(), Some(true), "{differences:?}"),
            "the same with every seed" => {
                assert!(differences.are_the_same(), "{differences:?}");
                self.saw("every seed");
            }
            _ => {
                assert_eq!(differences.all.len(), 1, "{differences:?}");
                self.saw("one seed");
            }
        }
    }

    /// Checks the sentence with other delays.
    pub(super) fn delays(&mut self, text: &str, best: Option<&str>) -> bool {
        let pattern = format!(
            "^(?:Its median delay is|With [a-z0-9-]+ the median delay is) {AMOUNT}, and (?:its|the) longest time without a delivery {AMOUNT}(?:; the longest of all schedulers is {AMOUNT}, with (.*))?\\.$"
        );
        let (Some(said), Some(best)) = (fits(&pattern, text), best) else { return false };
        let amount = |group: usize| (said.get(group).to_owned(), said.get(group + 1).to_owned());
        let median = |s: &str| {
            let delays: Vec<f64> =
                self.case.measured(s).iter().filter_map(|r| Some(r.metrics.message_delay_ms?.p50)).collect();
            delays.iter().sum::<f64>() / delays.len() as f64
        };
        let longest = |s: &str| {
            let runs = self.case.measured(s).into_iter().filter(|r| r.metrics.message_delay_ms.is_some());
            runs.map(|r| r.metrics.arrival_interval_ms.max).fold(0.0, f64::max)
        };
        // "Its" are the figures of each that the sentence before names.
        let equals = if text.starts_with("Its ") { self.case.equals(best) } else { vec![best] };
        for name in equals {
            assert!(self.case.shows(&amount(1), median(name)), "{text}: {name}");
            assert!(self.case.shows(&amount(3), longest(name)), "{text}: {name}");
        }
        let all = self.case.schedulers().into_iter().map(longest).fold(0.0, f64::max);
        if said.get(7).is_empty() {
            assert!(all < 2.0 * longest(best) + 1e-9, "{text}: {all}");
        } else {
            assert!(self.case.shows(&amount(5), all), "{text}");
            let (names, more) = listed(said.get(7));
            let longest_of_all: Vec<&str> = self.case.schedulers().into_iter().filter(|s| longest(s) == all).collect();
            assert!(names.iter().all(|s| longest_of_all.contains(&s.as_str())), "{text}");
            assert_eq!(names.len() + more, longest_of_all.len(), "{text}: {longest_of_all:?}");
            self.saw("longest of all");
        }
        self.saw("delays");
        true
    }

    /// Checks the sentence about schedulers level with the best.
    pub(super) fn as_good(&mut self, text: &str, best: Option<&str>) -> bool {
        let pattern =
            r"^(?:([^.]*?) (?:is|are) within 1 % of it\.)?(?: ?([^.]*?) (?:is|are) not significantly worse\.)?$";
        let (Some(said), Some(best)) = (fits(pattern, text), best) else { return false };
        let others: Vec<&str> = (self.case.schedulers().into_iter())
            .filter(|s| {
                let is_equal = self.case.equals(best).contains(s);
                self.case.unfinished(s) == 0.0 && self.case.lacking(s) == 0 && !is_equal
            })
            .collect();
        let is = |s: &str, near: bool| {
            self.case.differences(s, best).is_some_and(|d| match d.are_zero() || d.relative() <= 0.01 {
                true => near,
                false => !near && d.significant() == Some(false),
            })
        };
        for (group, near, kind) in [(1, true, "near"), (2, false, "unclear")] {
            let expected: BTreeSet<&str> = others.iter().copied().filter(|s| is(s, near)).collect();
            let (names, more) = listed(said.get(group));
            assert!(names.iter().all(|n| expected.contains(n.as_str())), "{text}: {expected:?}");
            // The first sentence has compared with linux, so it may be left out.
            let all = names.len() + more;
            let least = expected.len() - usize::from(expected.contains("linux"));
            assert!((least..=expected.len()).contains(&all), "{text}: {expected:?}");
            if all > 0 {
                self.saw(kind);
            }
        }
        true
    }

    /// Checks the sentence about data on one path.
    pub(super) fn one_path(&mut self, text: &str, best: Option<&str>) -> bool {
        let index = |name: &str| super::random::PATHS.iter().position(|p| *p == name).expect("a path");
        let whole = |s: &str, path: usize| self.case.sent(s).0[1 - path] == 0;
        let mostly = |s: &str, path: usize| self.case.sent(s).1 == Some(path);
        let schedulers = self.case.schedulers();
        if let Some(said) = fits(r"^It sent over ([a-z0-9]+) (almost )?alone\.$", text) {
            let (best, path) = (best.expect("a best one"), index(said.get(1)));
            assert!(mostly(best, path) && (said.get(2).is_empty() == whole(best, path)), "{text}");
            self.saw("one path");
            return true;
        }
        let pattern = r"^(?:(Only) ([a-z0-9]+) carried data|Hardly any data went over another path than ([a-z0-9]+))(?:, with every scheduler|: ([a-z0-9]+) is a backup|: plain TCP delivers nothing on ([a-z0-9]+))\.$";
        let Some(said) = fits(pattern, text) else { return false };
        let path = index(if said.get(1).is_empty() { said.get(3) } else { said.get(2) });
        assert!(schedulers.iter().all(|s| mostly(s, path)), "{text}");
        assert_eq!(!said.get(1).is_empty(), schedulers.iter().all(|s| whole(s, path)), "{text}");
        if !said.get(4).is_empty() {
            let known = &self.case.results.iter().find(|r| !r.paths.is_empty()).expect("paths").paths;
            assert!(known[index(said.get(4))].backup, "{text}");
        }
        if !said.get(5).is_empty() {
            assert_eq!(self.case.goodput(&format!("tcp-path{}", index(said.get(5)))), 0.0, "{text}");
        }
        self.saw("one path");
        true
    }

    /// The schedulers that are clearly worse than plain TCP with several paths, the schedulers that can be judged, and
    /// whether only one seed judges them.
    pub(super) fn worse_than_one(&self) -> (Vec<&str>, Vec<&str>, bool) {
        let tcp = self.case.best_plain_tcp();
        let Some(tcp) = tcp.first() else { return (Vec::new(), Vec::new(), false) };
        let seeds = |s: &str| self.case.alone(s, tcp).seeds;
        let comparable = |s: &&str| {
            let alone = self.case.alone(s, tcp);
            let (sent, only) = self.case.sent(s);
            let several = only.is_none() && (sent[0] + sent[1] > 0 || alone.seeds > 0);
            several && (alone.first != alone.second || self.case.differences(s, tcp).is_some())
        };
        let mut judged: Vec<&str> = self.case.schedulers().into_iter().filter(comparable).collect();
        let one_seed = !judged.iter().any(|s| seeds(s) > 1);
        judged.retain(|s| one_seed || seeds(s) > 1);
        let worse = judged.iter().copied().filter(|s| self.case.is_clearly_behind(s, tcp)).collect();
        (worse, judged, one_seed)
    }

    /// Whether the values of two schedulers differ by more than chance, and read differently.
    fn is_told_apart(&self, a: &str, b: &str) -> bool {
        if (self.case.unfinished(a) - self.case.unfinished(b)).abs() > 1e-9 {
            return true;
        }
        let (Some(x), Some(y)) = (self.case.mean(a), self.case.mean(b)) else { return false };
        // Three digits, but at most one after the point from 1 on, and two below.
        let text = |x: f64| {
            let x = if self.case.by() == By::Delay && x >= 999.5 { x / 1e3 } else { x };
            let digits = match x {
                x if x >= 99.95 => 0,
                x if x >= 0.95 => 1,
                _ => 2,
            };
            format!("{x:.digits$}")
        };
        text(x) != text(y) && self.case.differences(a, b).is_some_and(|d| d.significant() != Some(false))
    }

    /// Checks the sentence about two paths that are worse than one.
    pub(super) fn worse(&mut self, text: &str) -> bool {
        let (Some(worst), tcp) = (
            fits(r"paths are worse than one .*, (?:most of all|for example) with ([a-z0-9, ]+)[:.]", text)
                .map(|said| listed(said.get(1)).0[0].clone())
                .or_else(|| Some((*self.worse_than_one().0.first()?).to_owned())),
            self.case.best_plain_tcp().first().map(|s| (*s).to_owned()),
        ) else {
            return false;
        };
        if !text.contains("paths are worse than one") {
            return false;
        }
        let bare = self.compare(&worst, tcp.as_deref(), text);
        let said = fits(
            r"^(?:(With this seed t)|T)wo paths are worse than one (?:here( with every scheduler)?|with ([0-9]+) of (?:the )?([0-9]+) schedulers( that use both)?|with the one scheduler (?:(that uses both)|measured))(?:, (most of all|for example) with ([a-z0-9, ]+))?(?:: <than>|: <with>)?\.(?: (.*)\.)?$",
            &bare,
        )
        .unwrap_or_else(|| panic!("{text}\n{bare}"));
        let (worse, judged, one_seed) = self.worse_than_one();
        assert_eq!(!said.get(1).is_empty(), one_seed, "{text}");
        assert!(worse.contains(&worst.as_str()), "{text}: {worse:?}");
        let comparable = |other: &&&str| self.case.lacking(other) == 0;
        let is_named = text.contains("most of all") || text.contains("for example");
        let mut others = worse.iter().filter(comparable);
        assert!(!is_named || !others.any(|other| self.case.is_better(&worst, other)), "{text}: {worse:?}");
        let all = self.case.schedulers();
        let whole = |s: &&str| self.case.lacking(s) == 0;
        let equals = self.case.equals(&worst);
        let equals: Vec<&&str> = worse.iter().filter(|s| equals.contains(s)).collect();
        let is_close = |s: &&str| !equals.contains(&s) && !self.is_told_apart(s, &worst);
        let are_told_apart = worse.iter().all(whole) && !worse.iter().any(is_close);
        if said.get(7).is_empty() {
            assert!(judged.len() == 1 || (worse.len() > 1 && equals.len() == worse.len()), "{text}: {equals:?}");
        } else {
            let (names, more) = listed(said.get(8));
            assert!(names.iter().all(|n| equals.contains(&&n.as_str())), "{text}: {equals:?}");
            assert_eq!(names.len() + more, equals.len(), "{text}: {equals:?}");
            assert_eq!(said.get(7) == "most of all", are_told_apart, "{text}");
        }
        let has_equals = equals.iter().any(|other| **other != worst && !self.case.is_twin(other, &worst));
        if text.contains("the one scheduler") {
            assert_eq!((worse.len(), judged.len()), (1, 1), "{text}");
            assert_eq!(said.get(6).is_empty(), all.len() == 1, "{text}");
        } else if said.get(3).is_empty() {
            let asked = self.case.planned.schedulers.iter().filter(|s| !s.starts_with("tcp-")).count();
            assert!(worse.len() == judged.len() && judged.len() == asked, "{text}");
            assert_eq!(!said.get(2).is_empty(), all.len() > 1, "{text}");
        } else {
            assert_eq!((said.number(3), said.number(4)), (worse.len(), judged.len()), "{text}");
            assert_eq!(said.get(5).is_empty(), judged.len() == all.len(), "{text}");
        }
        if !said.get(9).is_empty() {
            self.culprit(&worst, said.get(9));
        }
        if said.get(7) == "for example" {
            self.saw("for example");
        }
        if has_equals {
            self.saw("equal worst");
        }
        self.saw(if one_seed { "with this seed" } else { "worse than one" });
        true
    }
}
