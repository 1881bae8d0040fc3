//! The files that each file of a crate needs, read from the paths in the code.
//!
//! A file has its module's name: `a::b` for `a/b.rs`, and `a` for `a/mod.rs` or `a.rs`. The crate's root has none. A file
//! needs another one if its code has a path into that file. If a parent re-exports an item (`use child::Thing`), a path to
//! that item counts as a path into the child.

use std::collections::{BTreeMap, BTreeSet};

/// The code of each module, without comments and tests.
pub(super) type Modules = BTreeMap<String, String>;

/// The modules, or the rooms, that each of them needs.
pub(super) type Needs = BTreeMap<String, BTreeSet<String>>;

/// A path from the crate's root.
type Path = Vec<String>;

/// The modules that each module needs.
pub(super) fn needs(modules: &Modules) -> Needs {
    let named: BTreeMap<&str, Vec<Path>> =
        modules.iter().map(|(module, code)| (module.as_str(), absolute(modules, module, code))).collect();
    let needed = |module: &str, paths: &[Path]| -> BTreeSet<String> {
        paths.iter().map(|path| owner(&named, path)).filter(|other| other != module).collect()
    };
    named.iter().map(|(module, paths)| ((*module).to_owned(), needed(module, paths))).collect()
}

/// The needs of the rooms. The crate's root is not a room.
pub(super) fn of_rooms(needs: &Needs) -> Needs {
    let room = |module: &String| module.split("::").next().unwrap_or_default().to_owned();
    let mut rooms = Needs::new();
    for (module, needed) in needs.iter().filter(|(module, _)| !module.is_empty()) {
        let mine = room(module);
        let others = needed.iter().map(room).filter(|other| !other.is_empty() && *other != mine);
        rooms.entry(mine.clone()).or_default().extend(others);
    }
    rooms
}

/// The needs of the files without submodules. A parent joins its children, so it is left out.
pub(super) fn of_files(mut needs: Needs) -> Needs {
    let parents: BTreeSet<String> =
        needs.keys().map(|module| module.rsplit_once("::").map_or("", |(parent, _)| parent).to_owned()).collect();
    needs.retain(|module, _| !parents.contains(module));
    needs
}

/// The groups of rooms, or of files, that all need each other, directly or through others.
pub(super) fn circles(needs: &Needs) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = needs.keys().map(|room| (room, reach(needs, room))).collect();
    let mut found: Vec<Vec<String>> = Vec::new();
    for (room, beyond) in &reached {
        if beyond.contains(*room) && !found.iter().any(|circle| circle.contains(*room)) {
            let back = beyond.iter().filter(|other| reached.get(**other).is_some_and(|theirs| theirs.contains(*room)));
            found.push(back.map(|other| (*other).clone()).collect());
        }
    }
    found
}

fn reach<'a>(needs: &'a Needs, from: &str) -> BTreeSet<&'a String> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&String> = needs.get(from).into_iter().flatten().collect();
    while let Some(room) = open.pop() {
        if found.insert(room) {
            open.extend(needs.get(room).into_iter().flatten());
        }
    }
    found
}

/// The module that contains the item of a path.
fn owner(named: &BTreeMap<&str, Vec<Path>>, path: &[String]) -> String {
    let mut depth = path.len();
    while depth > 0 && !named.contains_key(path[..depth].join("::").as_str()) {
        depth -= 1;
    }
    let module = path[..depth].join("::");
    let inside = |other: &&Path| other.len() > depth && other[..depth] == path[..depth] && **other != path;
    let shown =
        |name: &String| named.get(module.as_str())?.iter().filter(inside).find(|other| other.last() == Some(name));
    match path.get(depth).and_then(shown) {
        Some(other) if other.len() > depth + 1 => owner(named, other),
        _ => module,
    }
}

/// The paths of a module's code that lead into its own crate.
fn absolute(modules: &Modules, module: &str, code: &str) -> Vec<Path> {
    let here: Vec<&str> = module.split("::").filter(|name| !name.is_empty()).collect();
    let from_root = |path: &Vec<&str>| {
        let supers = path.iter().skip_while(|name| **name == "self").take_while(|name| **name == "super").count();
        let start = match path[0] {
            "crate" => &[],
            "self" | "super" => here.get(..here.len().checked_sub(supers)?)?,
            child if modules.contains_key([here.as_slice(), &[child]].concat().join("::").as_str()) => here.as_slice(),
            _ => return None,
        };
        let rest = path.iter().filter(|name| !["crate", "self", "super"].contains(name));
        Some(start.iter().chain(rest).map(|name| (*name).to_owned()).collect())
    };
    paths(code).iter().filter_map(from_root).collect()
}

/// All paths of some code, with one for each name in a list: `a::{b, c::d}` has `a::b` and `a::c::d`.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let tokens = tokens(code);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        match tokens.get(at + 1) == Some(&"::") && is_word(tokens[at]) {
            true => tree(&tokens, &mut at, &[], &mut found),
            false => at += 1,
        }
    }
    found
}

/// Reads a path from a position on, with a list in braces behind it.
fn tree<'a>(tokens: &[&'a str], at: &mut usize, before: &[&'a str], found: &mut Vec<Vec<&'a str>>) {
    let mut path = before.to_vec();
    while tokens.get(*at).is_some_and(|token| is_word(token)) {
        path.push(tokens[*at]);
        *at += 1;
        if tokens.get(*at) != Some(&"::") {
            break;
        }
        *at += 1;
    }
    if tokens.get(*at) != Some(&"{") || tokens[*at - 1] != "::" {
        found.push(path);
        return;
    }
    while tokens.get(*at).is_some_and(|token| *token != "}") {
        *at += 1;
        if tokens.get(*at).is_some_and(|token| is_word(token)) {
            tree(tokens, at, &path, found);
        }
    }
    *at += 1;
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The tokens of some code: words, `::`, and each other sign except spaces.
fn tokens(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match is_word(rest) {
            true => rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()),
            false if rest.starts_with("::") => 2,
            false => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        found.push(token);
        rest = after.trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[(&str, &str)]) -> Needs {
        needs(&texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn a_circle_over_three_rooms_is_found() {
        let needs = of(&[
            ("a", "use crate::b::B;\n"),
            ("b", "use crate::{c, seq::{self, Seq}};\n"),
            ("c", "fn f() { crate::a::g() }\n"),
            ("seq", ""),
        ]);
        assert_eq!(circles(&of_rooms(&needs)), [["a", "b", "c"]]);
    }

    #[test]
    fn what_the_root_shows_belongs_to_its_room() {
        let needs =
            of(&[("", "pub use b::{Thing, Other};\n"), ("a", "use crate::Thing;\n"), ("b", "use crate::a::A;\n")]);
        assert_eq!(circles(&of_rooms(&needs)), [["a", "b"]]);
    }

    #[test]
    fn a_circle_of_files_inside_a_room_is_found() {
        let needs = of(&[
            ("a", "mod x;\nmod y;\nmod z;\npub use x::Thing;\n"),
            ("a::x", "use super::{y::{Y as Other, Z}, z};\n"),
            ("a::y", "use super::z;\n fn f() -> super::Thing { crate::b::g() }\n"),
            ("a::z", "use super::Joined;\n"),
            ("b", ""),
        ]);
        assert_eq!(circles(&of_rooms(&needs)), Vec::<Vec<String>>::new());
        assert_eq!(circles(&of_files(needs)), [["a::x", "a::y"]]);
    }

    #[test]
    fn a_file_may_need_its_parent_and_a_parent_its_files() {
        let needs = of(&[
            ("a", "mod x;\nfn f() { x::g() }\n"),
            ("a::x", "use super::f;\nuse super::super::b::B;\n"),
            ("b", ""),
        ]);
        assert_eq!(needs["a::x"], BTreeSet::from(["a".to_owned(), "b".to_owned()]));
        assert_eq!(circles(&of_files(needs)), Vec::<Vec<String>>::new());
    }
}
