//! Builds the kernel with the patches of `linux/patches`, as User-Mode Linux in virtual time.

use crate::run::{program, root, run};
use crate::setup;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// The source of the kernel for which the patches are, as Debian packs it.
const SOURCE: &str = "/usr/src/linux-source-6.12.tar.xz";
const PATCHES: &str = "linux/patches";

/// A kernel that was built.
#[derive(Debug)]
pub(super) struct Kernel {
    /// The folder with what `validation/measure.py` needs.
    pub(super) folder: PathBuf,
    /// The first digits of the hash of its patches. Results of other patches are of no use.
    pub(super) version: String,
}

/// Tests the schedulers outside of a kernel, and builds the kernel in `folder`. If the kernel that is there has the same
/// patches, neither is done again.
///
/// # Errors
/// If a tool cannot be installed, if a test fails, if a patch does not apply, or if the kernel does not build.
pub(super) fn build(folder: &Path) -> Result<Kernel, String> {
    setup::install(&setup::LINUX)?;
    let patches = patches()?;
    let version = version(&patches)?;
    let kernel = Kernel { folder: folder.to_owned(), version };
    let (tree, applied, stamp) = (folder.join("source"), folder.join("applied"), folder.join("version"));
    if fs::read_to_string(&stamp).is_ok_and(|built| built == kernel.version) && folder.join("linux-uml").is_file() {
        println!("the kernel in {} has these patches", folder.display());
        return Ok(kernel);
    }
    run(&mut program("python3", "linux/tests/run.py"))?;
    if !tree.join("Makefile").is_file() {
        fs::create_dir_all(&tree).map_err(|e| format!("{}: {e}", tree.display()))?;
        run(program("tar", "--strip-components=1 -xf").arg(SOURCE).arg("-C").arg(&tree))?;
    }
    // Only what the patches change is compiled again.
    for patch in sorted(&applied).unwrap_or_default().iter().rev() {
        run(program("patch", "--strip=1 --silent --reverse --force --input").arg(patch).arg("-d").arg(&tree))?;
        fs::remove_file(patch).map_err(|e| format!("{}: {e}", patch.display()))?;
    }
    fs::create_dir_all(&applied).map_err(|e| format!("{}: {e}", applied.display()))?;
    for patch in &patches {
        run(program("patch", "--strip=1 --silent --force --input").arg(patch).arg("-d").arg(&tree))?;
        let copy = applied.join(patch.file_name().unwrap_or_default());
        fs::copy(patch, &copy).map_err(|e| format!("{}: {e}", copy.display()))?;
    }
    let mut command = program("nice", "validation/build.sh");
    command.arg(folder).arg("--source").arg(&tree);
    for option in options(&patches)? {
        command.arg("--enable").arg(option);
    }
    run(&mut command)?;
    fs::write(&stamp, &kernel.version).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(kernel)
}

/// The series, in its order.
fn patches() -> Result<Vec<PathBuf>, String> {
    sorted(&root().join(PATCHES))
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "patch"));
    files.sort();
    Ok(files)
}

fn version(patches: &[PathBuf]) -> Result<String, String> {
    let mut hash = Sha256::new();
    for patch in patches {
        hash.update(read(patch)?);
    }
    Ok(hash.finalize().iter().take(4).map(|byte| format!("{byte:02x}")).collect())
}

fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
}

/// The options of the kernel's configuration that the series adds.
fn options(patches: &[PathBuf]) -> Result<Vec<String>, String> {
    let mut options = Vec::new();
    for patch in patches {
        let text = read(patch)?;
        options.extend(text.lines().filter_map(|line| line.strip_prefix("+config ")).map(str::to_owned));
    }
    Ok(options)
}
