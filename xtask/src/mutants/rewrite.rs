//! Writes all changes of a file into it, so that a variable chooses one when the program runs.
//!
//! The body of each changed function becomes a `match` on the number of the chosen change. One arm has the body as it was, and each of
//! the others has it with one change. A function inside a function is rewritten only in the arm that is as it was.

use super::list::{Change, Position, Span};
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

/// The variable with the number of the chosen change; without it nothing is changed.
pub(super) const VARIABLE: &str = "PATHWEAVE_MUTANT";

/// A rewritten file.
#[derive(Debug)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// The lines of each change, by its number.
    pub(super) arms: Vec<(u32, RangeInclusive<usize>)>,
}

/// Code for the root of the crate: the number of the chosen change.
pub(super) fn chooser() -> String {
    format!(
        "\npub(crate) fn mutant() -> u32 {{\n    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();\n    \
         *CHOSEN.get_or_init(|| std::env::var(\"{VARIABLE}\").map_or(0, |n| n.parse().expect(\"a number\")))\n}}\n"
    )
}

/// The body of a function, in bytes of its file, and the changes in it.
struct Function<'a> {
    body: Range<usize>,
    edits: Vec<(u32, Range<usize>, &'a str)>,
}

/// Writes changes with their numbers into a file.
///
/// # Errors
/// If a change does not lie in its function's body.
pub(super) fn rewrite(source: &str, changes: &[(u32, &Change)]) -> Result<Rewritten, String> {
    let lines = line_starts(source);
    let mut functions = BTreeMap::new();
    for (number, change) in changes {
        let outside = || format!("{}: the change does not lie in a function", change.name);
        let whole = bytes(source, &lines, change.function).ok_or_else(outside)?;
        let body = body(source, &whole).ok_or_else(outside)?;
        let edit = bytes(source, &lines, change.span).ok_or_else(outside)?;
        if edit.start <= body.start || body.end <= edit.end {
            return Err(outside());
        }
        let function = functions.entry(body.start).or_insert_with(|| Function { body, edits: Vec::new() });
        function.edits.push((*number, edit, change.replacement.as_str()));
    }
    let functions: Vec<Function<'_>> = functions.into_values().collect();
    let (mut text, mut arms) = (String::new(), Vec::new());
    render(source, 0..source.len(), &functions, &mut text, &mut arms);
    let starts = line_starts(&text);
    let line = |byte: usize| starts.partition_point(|start| *start <= byte);
    let arms = arms.into_iter().map(|(number, arm)| (number, line(arm.start)..=line(arm.end))).collect();
    Ok(Rewritten { text, arms })
}

/// Whether a function is evaluated at compile time and so cannot ask which change is chosen.
pub(super) fn is_const(source: &str, change: &Change) -> bool {
    let whole = bytes(source, &line_starts(source), change.function);
    let head = whole.and_then(|whole| Some(&source[whole.start..body(source, &whole)?.start]));
    head.and_then(|head| head.split_once("fn ")).is_some_and(|(before, _)| before.contains("const "))
}

/// Writes a part of the source. `functions` are those in it, by their start.
fn render(
    source: &str,
    part: Range<usize>,
    functions: &[Function<'_>],
    text: &mut String,
    arms: &mut Vec<(u32, Range<usize>)>,
) {
    let mut at = part.start;
    for (index, Function { body, edits }) in functions.iter().enumerate() {
        // A function inside another one has been written with it.
        if body.start < at {
            continue;
        }
        let inside = functions[index + 1..].partition_point(|other| other.body.end <= body.end);
        let numbers: Vec<u32> = edits.iter().map(|(number, ..)| *number).collect();
        *text += &source[at..body.start];
        *text += &format!("{{ match crate::mutant() {{ other if !{numbers:?}.contains(&other) => ");
        render(source, body.clone(), &functions[index + 1..][..inside], text, arms);
        for (number, edit, replacement) in edits {
            *text += &format!("\n{number} => ");
            let start = text.len();
            *text += &source[body.start..edit.start];
            *text += replacement;
            *text += &source[edit.end..body.end];
            arms.push((*number, start..text.len()));
        }
        *text += "\n_ => unreachable!() } }";
        at = body.end;
    }
    *text += &source[at..part.end];
}

/// The body of a function with its braces. A head without documentation and attributes has none.
fn body(source: &str, whole: &Range<usize>) -> Option<Range<usize>> {
    let start = whole.start + source[whole.clone()].find('{')?;
    source[..whole.end].ends_with('}').then_some(start..whole.end)
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

fn bytes(source: &str, lines: &[usize], span: Span) -> Option<Range<usize>> {
    let byte = |Position { line, column }: Position| {
        let start = *lines.get(line.checked_sub(1)?)?;
        let letters = source[start..].char_indices().map(|(at, _)| start + at).chain([source.len()]);
        letters.take(column).last()
    };
    Some(byte(span.start)?..byte(span.end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "const fn two() -> u8 { 2 }\n// §\nfn f(a: u8) -> bool {\n    fn g(a: u8) -> bool { a == 1 }\n    g(a) && a < 9\n}\n";

    /// A change of the given texts, which come once in the source.
    fn change(function: &str, replaced: &str, replacement: &str) -> Option<Change> {
        let position = |byte: usize| {
            let before = &SOURCE[..byte];
            let line = before.rsplit('\n').next().unwrap_or_default();
            Position { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
        };
        let span = |text: &str| {
            let start = SOURCE.find(text)?;
            Some(Span { start: position(start), end: position(start + text.len()) })
        };
        Some(Change {
            name: replaced.into(),
            file: "f.rs".into(),
            function: span(function)?,
            span: span(replaced)?,
            replacement: replacement.into(),
        })
    }

    fn changes() -> Option<[Change; 3]> {
        let (outer, inner) = (SOURCE.find("fn f").map(|at| SOURCE[at..].trim_end())?, "fn g(a: u8) -> bool { a == 1 }");
        Some([change(outer, "&&", "||")?, change(inner, "==", "!=")?, change(outer, "a < 9", "true")?])
    }

    #[test]
    fn each_change_has_an_arm_and_a_function_inside_another_its_own_match() -> Result<(), String> {
        let changes = changes().ok_or("not found")?;
        let numbered: Vec<(u32, &Change)> = (1..).zip(&changes).collect();
        let Rewritten { text, arms } = rewrite(SOURCE, &numbered)?;
        let expected = "\
const fn two() -> u8 { 2 }
// §
fn f(a: u8) -> bool { match crate::mutant() { other if ![1, 3].contains(&other) => {
    fn g(a: u8) -> bool { match crate::mutant() { other if ![2].contains(&other) => { a == 1 }
2 => { a != 1 }
_ => unreachable!() } }
    g(a) && a < 9
}
1 => {
    fn g(a: u8) -> bool { a == 1 }
    g(a) || a < 9
}
3 => {
    fn g(a: u8) -> bool { a == 1 }
    g(a) && true
}
_ => unreachable!() } }
";
        assert_eq!(text, expected);
        assert_eq!(arms, [(2, 5..=5), (1, 9..=12), (3, 13..=16)]);
        Ok(())
    }

    #[test]
    fn a_function_of_compile_time_is_known_by_its_head() -> Result<(), String> {
        let two = change("const fn two() -> u8 { 2 }", "2 ", "0 ").ok_or("not found")?;
        assert!(is_const(SOURCE, &two));
        assert!(!changes().ok_or("not found")?.iter().any(|change| is_const(SOURCE, change)));
        Ok(())
    }

    #[test]
    fn a_change_outside_its_function_is_an_error() -> Result<(), String> {
        let inner = "fn g(a: u8) -> bool { a == 1 }";
        let outside = change(inner, "&&", "||").ok_or("not found")?;
        assert!(rewrite(SOURCE, &[(1, &outside)]).is_err());
        Ok(())
    }
}
