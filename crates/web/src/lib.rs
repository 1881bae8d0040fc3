//! The laboratory for a web page: requests and answers in JSON, built as a WebAssembly module without imports.
//!
//! [`Laboratory::reply`] is the whole interface: one request in, one answer out. A request makes at most one run, so a
//! worker of the page can stop between runs. Plans, runs, rankings, sentences and explanations are those of the command:
//! this crate only translates between JSON and the crates `runner` and `report`.
//!
//! | `ask` | other keys | answer |
//! |---|---|---|
//! | `offer` | | version, schedulers, congestion controllers, built-in scenarios |
//! | `plan` | `file`, `toml`, `schedulers` | the scenario's name, the names of its runs, warnings; earlier runs are dropped |
//! | `run` | `variant` (an index into the plan's names), `seed` | scheduler, seed, status, digest |
//! | `compare` | | the answer, the ranking, series, where the time went, a command |
//! | `explain` | `scheduler`, `seed`, `from`, `to` | the page of `pathweave explain`, as HTML |
//!
//! An answer that is `{"error": TEXT}` has the text that the command prints after `error: `.
//!
//! ```
//! let mut laboratory = pathweave_web::Laboratory::new();
//! let toml = pathweave_lab::scenario::BUILTIN[0].1;
//! let plan = serde_json::json!({"ask": "plan", "file": "a.toml", "toml": toml, "schedulers": "minrtt"});
//! let answer: serde_json::Value = serde_json::from_str(&laboratory.reply(&plan.to_string()))?;
//! assert_eq!(answer["runs"], serde_json::json!(["minrtt", "tcp-path0", "tcp-path1"]));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! `page/` has the playground itself; `cargo xtask playground` puts both together (docs/playground.md).

mod answer;
#[cfg(target_arch = "wasm32")]
mod exports;
mod laboratory;
mod request;

pub use laboratory::Laboratory;
