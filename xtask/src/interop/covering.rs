//! A covering array: rows of settings such that any two values of two settings are together in some row.

use std::collections::BTreeSet;

/// A value of a setting: the setting's number and the value's.
type Value = (usize, usize);

/// Rows for settings with these numbers of values. A row has the index of a value for each setting.
///
/// The method is greedy. Each row begins with the first pair that is in no row yet. Each further setting takes the
/// value that adds most new pairs; of several such values, the least used one.
pub(super) fn rows(settings: &[usize]) -> Vec<Vec<usize>> {
    let mut uncovered: BTreeSet<(Value, Value)> = BTreeSet::new();
    for (a, values) in settings.iter().enumerate() {
        for (b, others) in settings.iter().enumerate().skip(a + 1) {
            uncovered.extend((0..*values).flat_map(|x| (0..*others).map(move |y| ((a, x), (b, y)))));
        }
    }
    let mut used: Vec<Vec<usize>> = settings.iter().map(|values| vec![0; *values]).collect();
    let mut rows = Vec::new();
    while let Some(&(first, second)) = uncovered.first() {
        let mut row: Vec<Option<usize>> = vec![None; settings.len()];
        row[first.0] = Some(first.1);
        row[second.0] = Some(second.1);
        for (setting, values) in settings.iter().enumerate() {
            if row[setting].is_some() {
                continue;
            }
            let new_pairs = |value: usize| {
                let chosen = row.iter().enumerate().filter_map(|(other, chosen)| Some((other, (*chosen)?)));
                chosen.filter(|other| uncovered.contains(&pair((setting, value), *other))).count()
            };
            row[setting] =
                (0..*values).max_by_key(|value| (new_pairs(*value), std::cmp::Reverse(used[setting][*value])));
        }
        let row: Vec<usize> = row.into_iter().flatten().collect();
        for (a, x) in row.iter().enumerate() {
            used[a][*x] += 1;
            for (b, y) in row.iter().enumerate().skip(a + 1) {
                uncovered.remove(&((a, *x), (b, *y)));
            }
        }
        rows.push(row);
    }
    rows
}

fn pair(a: Value, b: Value) -> (Value, Value) {
    if a.0 < b.0 { (a, b) } else { (b, a) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_two_values_meet_and_there_are_far_fewer_rows_than_combinations() {
        let settings = [2, 4, 3, 2, 9, 5];
        let rows = rows(&settings);
        for (a, values) in settings.iter().enumerate() {
            for (b, others) in settings.iter().enumerate().skip(a + 1) {
                for (x, y) in (0..*values).flat_map(|x| (0..*others).map(move |y| (x, y))) {
                    assert!(rows.iter().any(|row| (row[a], row[b]) == (x, y)), "{a}={x} with {b}={y}");
                }
            }
        }
        assert!((45..=60).contains(&rows.len()), "{}", rows.len());
    }
}
