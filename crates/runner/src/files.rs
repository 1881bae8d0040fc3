//! The trace files of a scenario, read once.

use pathweave_lab::scenario::{Files, Scenario};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The files that one scenario names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Traces {
    /// Where the scenario's file is; nothing for built-in ones.
    folder: Option<PathBuf>,
    read: BTreeMap<String, String>,
}

impl Traces {
    /// None yet; names are relative to the folder of the scenario's file, then to the current one.
    pub fn new(folder: Option<&Path>) -> Self {
        Traces { folder: folder.map(Path::to_owned), read: BTreeMap::new() }
    }

    /// Reads what `scenario` needs.
    ///
    /// # Errors
    /// Name of the first file that cannot be read, and why.
    pub fn load(&mut self, scenario: &Scenario) -> Result<(), (String, String)> {
        for name in scenario.trace_files() {
            if !self.read.contains_key(name) {
                let text = self.find(name).map_err(|reason| (name.to_owned(), reason))?;
                self.read.insert(name.to_owned(), text);
            }
        }
        Ok(())
    }

    fn find(&self, name: &str) -> Result<String, String> {
        let beside = self.folder.as_ref().map(|folder| folder.join(name)).filter(|path| path.exists());
        std::fs::read_to_string(beside.unwrap_or_else(|| name.into())).map_err(|e| e.to_string())
    }
}

impl Files for Traces {
    fn read(&self, name: &str) -> Result<String, String> {
        self.read.get(name).cloned().ok_or_else(|| "this file could not be read before the runs began".into())
    }
}
