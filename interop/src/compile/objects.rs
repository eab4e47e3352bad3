//! Object files are compiled once: a file is compiled again only if no earlier settings gave the same preprocessed
//! text. Most files of a library do not depend on most of its settings.
//!
//! What must always hold: an object is kept under a hash of everything that it was compiled from.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tempfile::{NamedTempFile, TempPath};

use super::{directory, run};

/// A compiler of C and assembly, with its options.
#[derive(Clone, Debug, Default)]
pub struct Compiler {
    /// The options that change the code for the same text, such as `-O2`.
    pub options: Vec<String>,
    /// The options of the preprocessor alone: definitions and directories.
    pub settings: Vec<String>,
}

impl Compiler {
    /// Returns the objects of `sources`, in their order, compiled on all processors.
    pub fn objects(&self, sources: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
        let kept = directory().join("objects");
        fs::create_dir_all(&kept).map_err(|error| format!("{}: {error}", kept.display()))?;
        let next = AtomicUsize::new(0);
        let compile = || -> Result<Vec<(usize, PathBuf)>, String> {
            let mut made = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(source) = sources.get(index) else { return Ok(made) };
                made.push((index, self.object(source, &kept)?));
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let mut objects = thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(compile)).collect();
            let parts = running.into_iter().map(|thread| thread.join().expect("compiling does not panic"));
            parts.collect::<Result<Vec<_>, _>>().map(|parts| parts.concat())
        })?;
        objects.sort();
        Ok(objects.into_iter().map(|(_, object)| object).collect())
    }

    fn object(&self, source: &Path, kept: &Path) -> Result<PathBuf, String> {
        let is_assembly = source.extension().is_some_and(|extension| extension == "S");
        let preprocessed = unfinished(kept, if is_assembly { ".s" } else { ".i" })?;
        let mut preprocess = self.command();
        run(preprocess.args(&self.settings).args(["-E", "-P"]).arg(source).arg("-o").arg(&preprocessed), HINT)?;
        let mut hasher = DefaultHasher::new();
        self.options.hash(&mut hasher);
        fs::read(&preprocessed).map_err(|error| format!("{}: {error}", preprocessed.display()))?.hash(&mut hasher);
        let object = kept.join(format!("{:016x}.o", hasher.finish()));
        if !object.exists() {
            let compiled = unfinished(kept, ".o")?;
            run(self.command().arg("-c").arg(&preprocessed).arg("-o").arg(&compiled), HINT)?;
            compiled.persist(&object).map_err(|error| format!("{}: {error}", object.display()))?;
        }
        Ok(object)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("cc");
        command.args(&self.options);
        command
    }
}

/// Creates a file in `directory` that is removed unless it is given another name.
fn unfinished(directory: &Path, suffix: &str) -> Result<TempPath, String> {
    let file = tempfile::Builder::new().suffix(suffix).tempfile_in(directory);
    file.map(NamedTempFile::into_temp_path).map_err(|error| format!("{}: {error}", directory.display()))
}

const HINT: &str = "install the package build-essential";
