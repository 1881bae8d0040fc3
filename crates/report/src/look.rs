//! How a scheduler is drawn in charts: a colour and dashes that follow from its name, so that it looks the same in
//! every chart of the pages and of the Python package.

/// The colours on white and on dark ground. The last two are plain TCP's.
///
/// On white each has a contrast of at least 3. A search chose them for the largest least distance of any two in Oklab,
/// seen with and without each of the three kinds of colour blindness (Machado et al., 2009).
pub const COLOURS: [(&str, &str); 10] = [
    ("#4c36cf", "#6d51fa"),
    ("#f55f0f", "#fab311"),
    ("#40a254", "#90d78d"),
    ("#9e202e", "#ce3847"),
    ("#079af7", "#6bddfe"),
    ("#8548fd", "#db86fd"),
    ("#a85601", "#ee8046"),
    ("#7a3096", "#a070cd"),
    ("#565e69", "#aab3bf"),
    ("#8b939e", "#717b87"),
];

/// The lengths of dashes and gaps, in pixels. The first is a whole line.
pub const DASHES: [&[u32]; 4] = [&[], &[6, 3], &[2, 3], &[9, 3, 2, 3]];

/// Number of colours of schedulers.
const HUES: usize = 8;

/// The built-in schedulers: a row for each kind of dashes, a column for each colour. Schedulers that papers compare
/// with each other have different colours.
const NAMES: [[&str; HUES]; DASHES.len()] = [
    ["minrtt", "blest", "ecf", "weave", "roundrobin", "linux", "redundant", "otias"],
    ["fps", "fps-daf", "rems", "daps", "blest-kernel", "cp", "dpsaf", "fpdps"],
    ["edpf", "otias-kernel", "daps-two-path", "ecf-kernel", "lamps", "dems", "hsr", "linux-early"],
    ["bas", "blind-roundrobin", "weighted-roundrobin", "lws", "lts", "single", "", ""],
];

/// How a scheduler is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Index into [`COLOURS`].
    pub colour: usize,
    /// Index into [`DASHES`].
    pub dash: usize,
}

/// The looks of schedulers that are shown together, by their names. Upper case counts as lower case.
///
/// A built-in scheduler always has the same look. A name that begins with "tcp" is plain TCP. Each other one gets a
/// colour that no built-in scheduler among `names` has, as long as there is one: the one that a sum over its letters
/// chooses, or the next free one.
pub fn looks<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<Look> {
    let names: Vec<String> = names.into_iter().map(str::to_lowercase).collect();
    let mut paths = 0;
    let mut known: Vec<Option<Look>> = Vec::new();
    for name in &names {
        if name.starts_with("tcp") {
            known.push(Some(Look { colour: HUES + paths % 2, dash: paths % DASHES.len() }));
            paths += 1;
        } else {
            known.push(builtin(name));
        }
    }
    for (i, name) in names.iter().enumerate() {
        if known[i].is_none() {
            known[i] = Some(free(name, &known));
        }
    }
    known.into_iter().flatten().collect()
}

fn builtin(name: &str) -> Option<Look> {
    let place = |row: &[&str; HUES]| row.iter().position(|known| *known == name);
    NAMES.iter().enumerate().find_map(|(dash, row)| place(row).map(|colour| Look { colour, dash }))
}

/// The first look, from the name's own colour on, that differs from those of the others: in colour if possible.
fn free(name: &str, others: &[Option<Look>]) -> Look {
    let own = name.bytes().fold(0, |sum: usize, byte| (sum * 31 + usize::from(byte)) % 8191);
    let colours = || (0..HUES).map(|i| (own + i) % HUES);
    let there = || others.iter().flatten();
    let unused = colours().find(|colour| there().all(|look| look.colour != *colour));
    if let Some(colour) = unused {
        return Look { colour, dash: 0 };
    }
    let all = (0..DASHES.len()).flat_map(|dash| colours().map(move |colour| Look { colour, dash }));
    all.into_iter().find(|look| there().all(|other| other != look)).unwrap_or(Look { colour: own % HUES, dash: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathweave_algorithms::Registry;

    #[test]
    fn a_built_in_scheduler_looks_the_same_beside_any_others_and_like_no_other() {
        let registry = Registry::builtin();
        let names: Vec<&str> = registry.schedulers().iter().map(|s| s.name()).collect();
        let all = looks(names.iter().copied());
        for (i, name) in names.iter().enumerate() {
            assert_eq!(looks([*name]), [all[i]], "{name}");
            assert_eq!(looks(["mine", "tcp-path0", *name])[2], all[i], "{name}");
            assert!(all[..i].iter().all(|other| *other != all[i]), "{name} looks like another");
        }
    }

    #[test]
    fn others_get_the_colours_that_are_left_in_any_order() {
        let of = |names: &[&str], wanted: &str| {
            let place = names.iter().position(|name| *name == wanted).expect("it is among them");
            looks(names.iter().copied())[place]
        };
        for mine in ["mine", "shortest-rtt", "blest, δ = 0.001", "CP radical"] {
            let names = ["minrtt", mine, "blest", "ecf", "weave", "roundrobin", "linux", "redundant", "tcp-path0"];
            let look = of(&names, mine);
            assert_eq!(look, Look { colour: 7, dash: 0 }, "{mine}: the only colour that is left");
        }
        let many: Vec<String> = (0..24).map(|i| format!("variant {i}")).collect();
        let made = looks(many.iter().map(String::as_str));
        for (i, look) in made.iter().enumerate() {
            assert!(!made[..i].contains(look), "variant {i} looks like another");
        }
        assert!(made[..HUES].iter().all(|look| look.dash == 0), "{made:?}");
    }

    #[test]
    fn plain_tcp_is_grey_with_dashes_by_path_and_names_may_have_upper_case() {
        let grey = |path| Look { colour: HUES + path, dash: path };
        assert_eq!(looks(["tcp-path0", "minRTT", "TCP on WLAN"]), [grey(0), looks(["minrtt"])[0], grey(1)]);
    }

    #[test]
    fn the_pages_have_these_colours() {
        let css = include_str!("../assets/page.css");
        for (i, (light, dark)) in COLOURS.iter().enumerate() {
            assert!(css.contains(&format!("--v{i}: light-dark({light}, {dark});")), "--v{i}");
        }
        for (i, dashes) in DASHES.iter().enumerate().skip(1) {
            let lengths: Vec<String> = dashes.iter().map(u32::to_string).collect();
            assert!(css.contains(&format!(".dash{i} {{ stroke-dasharray: {}; }}", lengths.join(" "))), ".dash{i}");
        }
    }
}
