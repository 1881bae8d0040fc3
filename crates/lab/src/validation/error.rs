//! A wrong reference file.

use core::fmt;

/// What is wrong with a reference file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferenceError {
    /// The file's name.
    pub file: String,
    /// Line, from 1; 0 where it is the file as a whole.
    pub line: usize,
    /// The field, with dots between its levels; empty where the line is no JSON.
    pub key: String,
    /// What the line says.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl fmt::Display for ReferenceError {
    /// `FILE:LINE: key = value: allowed: ...`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReferenceError { file, line, key, value, allowed } = self;
        match line {
            0 => write!(f, "{file}")?,
            _ => write!(f, "{file}:{line}")?,
        }
        match key.as_str() {
            "" => write!(f, ": {value}: allowed: {allowed}"),
            _ => write!(f, ": {key} = {value}: allowed: {allowed}"),
        }
    }
}

impl core::error::Error for ReferenceError {}
