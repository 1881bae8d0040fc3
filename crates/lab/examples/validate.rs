//! Holds the engine against a reference file: `validate FILE.jsonl [ONLY [OUT.jsonl]]`; ONLY is part of an id, or empty.
//! With `validate --toml FILE.jsonl ID SEED`: the scenario file of one run.
use pathweave_lab::validation::{Comparison, Reference, Summary, comparison_table, run, scenario_text, summary_table};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let fail = |e: &dyn core::fmt::Display| -> ! {
        eprintln!("{e}");
        std::process::exit(2)
    };
    let toml = args[0] == "--toml";
    let file = &args[usize::from(toml)];
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| fail(&format!("{file}: {e}")));
    let mut references = Reference::read(file, &text).unwrap_or_else(|e| fail(&e));
    if toml {
        let r = references.iter().find(|r| r.id == args[2]).unwrap_or_else(|| fail(&"no such id"));
        return print!("{}", scenario_text(r, args[3].parse().unwrap_or(1)));
    }
    references.retain(|r| args.get(1).is_none_or(|only| r.id.contains(only.as_str())));
    let jobs: Vec<_> = references.iter().flat_map(|r| r.seeds().map(move |seed| (r, seed))).collect();
    let next = AtomicUsize::new(0);
    let registry = pathweave_proto::Registry::builtin();
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Relaxed);
            let Some((r, seed)) = jobs.get(i) else { return done };
            let caught = std::panic::catch_unwind(|| run(r, *seed, &registry));
            match caught {
                Ok(Ok(out)) => done.push((r.id.clone(), out)),
                Ok(Err(e)) => eprintln!("{e}"),
                Err(_) => eprintln!("{} seed {seed}: panic", r.id),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let done: Vec<_> = std::thread::scope(|s| {
        let handles: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
        handles.into_iter().flat_map(|h| h.join().unwrap_or_default()).collect()
    });
    let of = |r: &Reference| done.iter().filter(|(id, _)| *id == r.id).map(|(_, o)| o.clone()).collect();
    let all: Vec<_> = references.iter().map(|r| Comparison::new(r, of(r))).collect();
    println!("{}\n{}", comparison_table(&all), summary_table(&Summary::new(&all)));
    if let Some(out) = args.get(2) {
        let lines: String = all.iter().map(|c| format!("{}\n", c.json())).collect();
        std::fs::write(out, lines).unwrap_or_else(|e| fail(&e));
    }
}
