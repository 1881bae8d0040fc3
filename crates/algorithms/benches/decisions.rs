//! Runs decisions whose instructions `cargo xtask decisions` counts. `decisions NAME CONNECTION COUNT` takes about
//! COUNT decisions of one scheduler, and prints the exact number. Without arguments it prints the names of all.

mod world;

use pathweave_algorithms::Registry;
use world::{CONNECTIONS, World};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let registry = Registry::builtin();
    let [name, connection, count] = &arguments[..] else {
        for factory in registry.schedulers() {
            CONNECTIONS.iter().for_each(|c| println!("{} {}", factory.name(), c.name));
        }
        return;
    };
    let factory = registry.scheduler(name).unwrap_or_else(|e| panic!("{e}"));
    let found = CONNECTIONS.iter().find(|c| c.name == connection);
    let mut world = World::new(factory.as_ref(), found.unwrap_or_else(|| panic!("there is no {connection}")));
    world.run(count.parse().unwrap_or_else(|e| panic!("{count}: {e}")));
    println!("{}", world.decisions);
}
