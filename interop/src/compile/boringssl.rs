//! BoringSSL from the sources in the crate `boring-sys`, made with CMake as its own documentation says.
//!
//! What must always hold: its libraries are kept under the name of the crate's version, and only
//! when they are complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, id};
use std::thread;

use super::{directory, run, shipped};

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

/// BoringSSL's libraries. They are compiled, which takes some minutes, once: for programs and for the shared objects whose
/// speed is measured alike.
pub fn boringssl() -> Result<BoringSsl, String> {
    let package = shipped("boring-sys")?;
    let name = package.components().next_back().map(|name| name.as_os_str().to_string_lossy().into_owned());
    let name = name.ok_or("a crate in a directory")?;
    let sources = package.join("deps/boringssl");
    let libraries = libraries(&name, &sources)?;
    let include = format!("-isystem{}", sources.join("include").display());
    Ok(BoringSsl {
        flags: vec![format!("-DCRATE=\"{name}\""), include],
        libraries: ["libssl.a", "libcrypto.a"].map(|library| libraries.join(library)).into(),
    })
}

/// Where the libraries are.
fn libraries(name: &str, sources: &Path) -> Result<PathBuf, String> {
    let libraries = directory().join(format!("boringssl-pic-of-{name}"));
    if libraries.exists() {
        return Ok(libraries);
    }
    eprintln!("compiling the current BoringSSL, once");
    let unfinished = directory().join(format!("boringssl.{}", id()));
    let hint = format!("install the packages {PACKAGES}");
    let mut cmake = Command::new("cmake");
    cmake.arg("-S").arg(sources).arg("-B").arg(&unfinished).args(["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]);
    // Its own warnings are errors, and for other compilers than ours.
    cmake.args(["C", "CXX"].map(|language| format!("-DCMAKE_{language}_FLAGS_RELEASE=-O2 -w")));
    run(cmake.arg("-DCMAKE_POSITION_INDEPENDENT_CODE=ON"), &hint)?;
    let processors = thread::available_parallelism().map_or(1, usize::from).to_string(); // without a number: all at once
    run(
        Command::new("cmake").arg("--build").arg(&unfinished).args(["--parallel", &processors, "--target", "ssl"]),
        &hint,
    )?;
    let _ = fs::remove_dir_all(unfinished.join("CMakeFiles")); // large, and no longer needed
    match fs::rename(&unfinished, &libraries) {
        Err(error) if !libraries.exists() => Err(format!("{}: {error}", libraries.display())),
        Err(_) => fs::remove_dir_all(unfinished).map(|()| libraries).map_err(|error| error.to_string()), // another process was faster
        Ok(()) => Ok(libraries),
    }
}
