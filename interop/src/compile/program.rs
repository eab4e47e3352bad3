//! The programs in `c/` and `java/`: which files a program is made of, how it is compiled, how it is started.
//!
//! What must always hold: a program that was compiled from other files is not used.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, id};

use super::{directory, own, run};

/// How a program is started.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The executable file.
    pub program: PathBuf,
    /// What comes before the program's own arguments.
    pub arguments: Vec<String>,
}

impl Launcher {
    /// A command without the program's own arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

impl From<PathBuf> for Launcher {
    fn from(program: PathBuf) -> Self {
        Self { program, arguments: Vec::new() }
    }
}

/// A program in C: what all such programs share, and a file for one library.
pub struct CProgram {
    /// The name that the program is kept under.
    pub name: &'static str,
    /// The file for the library.
    pub source: &'static str,
    /// Files that are not compiled, and yet decide what the program becomes, such as settings of the library.
    pub settings: &'static [&'static str],
    /// Tells the compiler about the library, which is compiled before if need be.
    pub library: fn(&mut Command) -> Result<(), String>,
    /// The packages that have to be installed.
    pub packages: &'static str,
}

impl CProgram {
    /// Compiles the program, unless that has been done before.
    pub fn compile(&self) -> Result<Launcher, String> {
        let sources = SHARED_SOURCES.iter().copied().chain([self.source]);
        let files = sources.clone().chain([SHARED_HEADER]).chain(self.settings.iter().copied());
        let program = kept(self.name, files, |unfinished| {
            let mut command = Command::new("cc");
            command.args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(unfinished).args(sources.map(own));
            (self.library)(&mut command)?;
            run(&mut command, &format!("install the packages {}", self.packages)).map(drop)
        })?;
        Ok(program.into())
    }
}

/// What all programs in C are made of.
const SHARED_SOURCES: [&str; 2] = ["c/peer.c", "c/sockets.c"];

const SHARED_HEADER: &str = "c/peer.h";

/// A program in Java.
pub struct JavaProgram {
    /// The name that the program is kept under.
    pub name: &'static str,
    /// The class that it begins with.
    pub class: &'static str,
    /// The files that it is made of.
    pub sources: &'static [&'static str],
    /// Files that are not compiled, and yet decide what the program becomes.
    pub settings: &'static [&'static str],
    /// The class path of its libraries, which are fetched before if need be.
    pub jars: fn() -> Result<String, String>,
    /// The packages that have to be installed.
    pub packages: &'static str,
}

impl JavaProgram {
    /// Compiles the program, unless that has been done before.
    pub fn compile(&self) -> Result<Launcher, String> {
        let files = self.sources.iter().chain(self.settings).copied();
        let classes = kept(self.name, files, |unfinished| {
            let jars = (self.jars)()?;
            let written = fs::create_dir_all(unfinished).and_then(|()| fs::write(unfinished.join(JARS), &jars));
            written.map_err(|error| format!("{}: {error}", unfinished.display()))?;
            let mut command = Command::new("javac");
            command.args(["-Xlint:all,-path", "-Werror", "-cp", &jars, "-d"]).arg(unfinished);
            command.args(self.sources.iter().map(|source| own(source)));
            run(&mut command, &format!("install the packages {}", self.packages)).map(drop)
        })?;
        let jars = classes.join(JARS);
        let jars = fs::read_to_string(&jars).map_err(|error| format!("{}: {error}", jars.display()))?;
        let path = format!("{}:{jars}", classes.display());
        let arguments = ["-XX:TieredStopAtLevel=1", "-cp", &path, self.class].map(str::to_owned).into();
        Ok(Launcher { program: "java".into(), arguments })
    }
}

/// The file with the class path of the libraries, beside the classes.
const JARS: &str = "jars";

/// What `make` makes of `files`, kept under `name` and a hash of these files. `make` is given a path for it that nobody else
/// uses.
fn kept<'a>(
    name: &str,
    files: impl Iterator<Item = &'a str>,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    for file in files.map(own) {
        fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())).hash(&mut hasher);
    }
    let name = format!("{name}-{:016x}", hasher.finish());
    let made = directory().join(&name);
    if !made.exists() {
        let unfinished = directory().join(format!("{name}.{}", id()));
        make(&unfinished)?;
        fs::rename(&unfinished, &made).map_err(|error| format!("{}: {error}", made.display()))?;
    }
    Ok(made)
}
