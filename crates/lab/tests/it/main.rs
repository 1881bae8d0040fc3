//! Tests of whole runs, one module for each behaviour. They are one program, because each program would link everything
//! anew.

mod build;
mod built_in;
mod dpsaf;
mod examples;
mod fairness;
mod identities;
mod kept;
mod measure_from;
mod messages;
mod middleboxes;
mod pacing;
mod properties;
mod regret;
mod results;
mod schedulers;
mod start_spread;
mod thin_streams;
mod through_bytes;
mod waiting;
mod workloads;
