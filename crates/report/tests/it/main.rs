//! Tables and pages of whole comparisons.

mod assets;
mod made_up;
mod page;
mod table;
mod timeline;
mod verdict;
