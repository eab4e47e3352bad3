//! BoringSSL from the sources in the crate `boring-sys`, made with CMake as its own documentation says.
//!
//! What must always hold: its libraries are kept under the name of the crate's version and of what they are for, and only
//! when they are complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, id};

use super::{directory, run, shipped};

/// What they are linked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// A program whose speed does not matter.
    Programs,
    /// A shared object whose speed is measured.
    Objects,
}

/// What a file of C needs to be compiled and linked with BoringSSL.
#[derive(Debug)]
pub struct BoringSsl {
    /// For the compiler; `CRATE` is the name of the crate with its version.
    pub flags: Vec<String>,
    /// For the linker.
    pub libraries: Vec<PathBuf>,
}

/// What else the linker needs.
pub const LIBRARIES: &[&str] = &["-lstdc++", "-lpthread"];

/// The packages that make it.
pub const PACKAGES: &str = "build-essential and cmake";

/// BoringSSL's libraries. They are compiled, which takes some minutes, once.
pub fn boringssl(purpose: For) -> Result<BoringSsl, String> {
    let package = shipped("boring-sys")?;
    let name = package.components().next_back().map(|name| name.as_os_str().to_string_lossy().into_owned());
    let name = name.ok_or("a crate in a directory")?;
    let sources = package.join("deps/boringssl");
    let libraries = libraries(&name, &sources, purpose)?;
    let include = format!("-isystem{}", sources.join("include").display());
    Ok(BoringSsl {
        flags: vec![format!("-DCRATE=\"{name}\""), include],
        libraries: ["libssl.a", "libcrypto.a"].map(|library| libraries.join(library)).into(),
    })
}

/// Where the libraries are.
fn libraries(name: &str, sources: &Path, purpose: For) -> Result<PathBuf, String> {
    let (kind, flags, independent) = match purpose {
        For::Programs => ("boringssl", "-O1 -w", "OFF"),
        For::Objects => ("fast-boringssl", "-O2 -w", "ON"),
    };
    let libraries = directory().join(format!("{kind}-of-{name}"));
    if libraries.exists() {
        return Ok(libraries);
    }
    eprintln!("compiling the current BoringSSL, once");
    let unfinished = directory().join(format!("{kind}.{}", id()));
    let hint = format!("install the packages {PACKAGES}");
    let mut cmake = Command::new("cmake");
    cmake.arg("-S").arg(sources).arg("-B").arg(&unfinished).args(["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]);
    // Its own warnings are errors, and for other compilers than ours.
    cmake.args(["C", "CXX"].map(|language| format!("-DCMAKE_{language}_FLAGS_RELEASE={flags}")));
    run(cmake.arg(format!("-DCMAKE_POSITION_INDEPENDENT_CODE={independent}")), &hint)?;
    run(Command::new("cmake").arg("--build").arg(&unfinished).args(["--parallel", "--target", "ssl"]), &hint)?;
    let _ = fs::remove_dir_all(unfinished.join("CMakeFiles")); // large, and no longer needed
    match fs::rename(&unfinished, &libraries) {
        Err(error) if !libraries.exists() => Err(format!("{}: {error}", libraries.display())),
        Err(_) => fs::remove_dir_all(unfinished).map(|()| libraries).map_err(|error| error.to_string()), // another process was faster
        Ok(()) => Ok(libraries),
    }
}
