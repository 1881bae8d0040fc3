//! The Python package: its wheel, its tests, its notebooks, and its installation.

use crate::results;
use crate::run::{root, run, target};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Size limit of the wheel.
const LARGEST_WHEEL_BYTES: u64 = 15_000_000;
/// The folder, below Cargo's, of the environment for the checks.
const ENVIRONMENT: &str = "python-checks";
/// The packages that the checks install.
const REQUIREMENTS: &str = "python/requirements.txt";

/// Builds the wheel, installs it into an environment of its own and tests it there. Without Python 3.11 or later it
/// checks nothing, and says so.
///
/// # Errors
/// What fails, or cannot be installed.
pub(crate) fn check() -> Result<(), String> {
    let Some(python) = interpreter() else {
        println!("SKIPPED: there is no Python 3.11 or later, so the Python package is not checked");
        return Ok(());
    };
    results::build()?;
    let environment = Environment::new(python, ENVIRONMENT, REQUIREMENTS)?;
    lint(&environment)?;
    let wheel = environment.wheel()?;
    environment.test()?;
    clean_install(python, &wheel)
}

/// Writes `docs/python-api.md` from the docstrings, and today's outputs into the notebooks.
///
/// # Errors
/// If the package cannot be built, or the file cannot be written.
pub(crate) fn write_reference() -> Result<(), String> {
    let python = interpreter().ok_or("there is no Python 3.11 or later")?;
    let environment = Environment::new(python, ENVIRONMENT, REQUIREMENTS)?;
    environment.wheel()?;
    run(environment.program("python").args(["-P", "python/reference.py", "docs/python-api.md"]))?;
    run(environment.program("python").args(["-P", "python/notebooks.py"]))
}

/// Measures the package beside the command: `python/measure.py`.
///
/// # Errors
/// If something cannot be built, or a measurement fails.
pub(crate) fn measure(measurements: &[&str]) -> Result<(), String> {
    let python = interpreter().ok_or("there is no Python 3.11 or later")?;
    results::build()?;
    let environment = Environment::new(python, ENVIRONMENT, REQUIREMENTS)?;
    environment.wheel()?;
    let mut program = environment.program("python");
    program.args(["-P", "python/measure.py", "--command"]).arg(target().join("release/pathweave"));
    run(program.args(measurements))
}

/// The first of the usual names of an interpreter that is new enough.
pub(crate) fn interpreter() -> Option<&'static str> {
    let check = "import sys, venv; sys.exit(sys.version_info < (3, 11))";
    ["python3", "python3.14", "python3.13", "python3.12", "python3.11"]
        .into_iter()
        .find(|name| Command::new(name).args(["-c", check]).output().is_ok_and(|output| output.status.success()))
}

/// A virtual environment with the packages that some checks need.
pub(crate) struct Environment(PathBuf);

impl Environment {
    /// Makes the environment below Cargo's target folder, by a file of requirements. An existing one is used again.
    ///
    /// # Errors
    /// If it cannot be made, or a package cannot be installed.
    pub(crate) fn new(python: &str, name: &str, requirements: &str) -> Result<Self, String> {
        let folder = target().join(name);
        let environment = Environment(folder.clone());
        let stamp = folder.join("installed.txt");
        let wanted = std::fs::read_to_string(root().join(requirements)).map_err(|e| format!("{requirements}: {e}"))?;
        if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(environment);
        }
        run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
        run(environment.pip().args(["-r", requirements]))?;
        std::fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
        Ok(environment)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    pub(crate) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.0.join("bin").join(name));
        command.current_dir(root());
        command
    }

    fn pip(&self) -> Command {
        let mut pip = self.program("python");
        // Python compiles a module when it is first imported. To compile all of them takes a minute.
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]);
        pip
    }

    /// Builds the wheel and installs it here.
    fn wheel(&self) -> Result<PathBuf, String> {
        let folder = target().join("wheels");
        let _ = std::fs::remove_dir_all(&folder);
        let mut maturin = self.program("maturin");
        maturin.args(["build", "--release", "--quiet", "--out"]).arg(&folder).args(["--interpreter"]);
        maturin.arg(self.0.join("bin/python")).env("CARGO_TARGET_DIR", target());
        run(&mut maturin)?;
        let built = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let wheel = built.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "whl"));
        let wheel = wheel.ok_or("maturin wrote no wheel")?;
        let bytes = std::fs::metadata(&wheel).map_err(|e| e.to_string())?.len();
        println!("{}: {:.1} MB", wheel.display(), bytes as f64 / 1e6);
        if bytes > LARGEST_WHEEL_BYTES {
            return Err(format!("the wheel has {bytes} bytes; {LARGEST_WHEEL_BYTES} are allowed"));
        }
        run(self.pip().args(["--force-reinstall", "--no-deps"]).arg(&wheel))?;
        Ok(wheel)
    }

    /// The tests, the examples in docstrings and the notebooks.
    fn test(&self) -> Result<(), String> {
        let pytest = |arguments: &[&str]| {
            let mut pytest = self.program("python");
            // Without the folder of this repository in the path, so that the installed package is what is tested.
            pytest.args(["-P", "-m", "pytest"]).args(arguments).env("PATHWEAVE", target().join("release/pathweave"));
            run(&mut pytest)
        };
        pytest(&[])?;
        pytest(&["--doctest-modules", "--pyargs", "pathweave"])?;
        // Not the sources beside it: the installed package.
        run(self.program("python").args(["-P", "python/reference.py", "--check", "docs/python-api.md"]))
    }
}

/// Formats, lints and types of Python.
fn lint(environment: &Environment) -> Result<(), String> {
    run(environment.program("ruff").args(["format", "--check", "python"]))?;
    run(environment.program("ruff").args(["check", "python"]))?;
    run(&mut environment.program("mypy"))
}

/// Installs the wheel in an environment without anything else and without Cargo, and runs the README's example and
/// the command.
fn clean_install(python: &str, wheel: &Path) -> Result<(), String> {
    let folder = target().join("python-clean");
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let inside = |arguments: &[&str]| {
        let mut command = Command::new(folder.join("bin/python"));
        command.args(arguments).current_dir(&folder).env("PATH", folder.join("bin"));
        command
    };
    run(inside(&["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]).arg(wheel))?;
    run(&mut inside(&["-P", "-c", &readme_example()?]))?;
    run(&mut inside(&["-P", "-m", "pathweave", "list", "scenarios"]))
}

/// The first Python example of the README.
///
/// # Errors
/// If there is none.
pub(crate) fn readme_example() -> Result<String, String> {
    let text = std::fs::read_to_string(root().join("README.md")).map_err(|e| format!("README.md: {e}"))?;
    let block = text.split_once("```python\n").and_then(|(_, rest)| rest.split_once("```"));
    block.map(|(example, _)| example.to_owned()).ok_or_else(|| "README.md has no Python example".into())
}
