//! BoringSSL from the sources in the crate `boring-sys`, made with CMake as its own documentation says.
//!
//! What must always hold: its libraries are kept under the name of the crate's version, and only when they are complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, id};

use super::{directory, run};

/// Adds to `command` what a program of C needs to be linked with BoringSSL of `package`, the crate's directory.
pub(super) fn link(command: &mut Command, package: &Path) -> Result<(), String> {
    let name = package.components().next_back().map(|name| name.as_os_str().to_string_lossy().into_owned());
    let name = name.ok_or("a crate in a directory")?;
    let libraries = libraries(&name, &package.join("deps/boringssl"))?;
    command.arg(format!("-DCRATE=\"{name}\"")).arg("-isystem").arg(package.join("deps/boringssl/include"));
    command.args(["libssl.a", "libcrypto.a"].map(|library| libraries.join(library)));
    command.args(["-lstdc++", "-lpthread"]);
    Ok(())
}

/// Where the libraries are; they are compiled, which takes some minutes, once.
fn libraries(name: &str, sources: &Path) -> Result<PathBuf, String> {
    let libraries = directory().join(format!("boringssl-of-{name}"));
    if libraries.exists() {
        return Ok(libraries);
    }
    eprintln!("compiling the current BoringSSL, once");
    let unfinished = directory().join(format!("boringssl.{}", id()));
    let hint = "install the packages build-essential and cmake";
    let mut cmake = Command::new("cmake");
    cmake.arg("-S").arg(sources).arg("-B").arg(&unfinished).args(["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]);
    // Its own warnings are errors, and for other compilers than ours.
    run(cmake.args(["-DCMAKE_C_FLAGS_RELEASE=-O1 -w", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -w"]), hint)?;
    run(Command::new("cmake").arg("--build").arg(&unfinished).args(["--parallel", "--target", "ssl"]), hint)?;
    let _ = fs::remove_dir_all(unfinished.join("CMakeFiles")); // large, and no longer needed
    match fs::rename(&unfinished, &libraries) {
        Err(error) if !libraries.exists() => Err(format!("{}: {error}", libraries.display())),
        Err(_) => fs::remove_dir_all(unfinished).map(|()| libraries).map_err(|error| error.to_string()), // another process was faster
        Ok(()) => Ok(libraries),
    }
}
