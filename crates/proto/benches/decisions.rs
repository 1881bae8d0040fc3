//! Decisions whose instructions `cargo xtask decisions` counts: `decisions NAME SUBFLOWS COUNT` takes about so many decisions of
//! one scheduler and prints how many it were. Without arguments: the names of all.

mod world;

use pathweave_proto::Registry;
use world::{SUBFLOWS, World};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let registry = Registry::builtin();
    let [name, subflows, count] = &arguments[..] else {
        for entry in registry.schedulers() {
            SUBFLOWS.iter().for_each(|n| println!("{} {n}", entry.name));
        }
        return;
    };
    let entry = registry.scheduler(name).unwrap_or_else(|| panic!("there is no {name}"));
    let number = |text: &str| text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
    let mut world = World::new(entry, number(subflows) as u8);
    world.run(number(count));
    println!("{}", world.decisions);
}
