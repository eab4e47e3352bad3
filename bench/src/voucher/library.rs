//! The size of each library as it is built, whole: what a static program takes its part from.
//!
//! What must always hold: debugging information does not count; all are archives of object files, measured by the same tools.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use terse_interop::compile::{directory, run};

use super::program::cargo;
use crate::compile::{Library, Purpose};
use crate::stack::Version;

/// The size of a library.
#[derive(Clone, Debug)]
pub struct LibrarySize {
    /// The name of its signer, or of the library if it signs no CMS.
    pub name: &'static str,
    /// The bytes of the archive, with the names that a linker needs.
    pub file: u64,
    /// The bytes of code and data alone.
    pub code: u64,
}

/// Builds the libraries of these names, and measures them. One that there is none of is left out.
pub fn libraries(names: &[&str]) -> Result<Vec<LibrarySize>, String> {
    let mut sizes = Vec::new();
    for name in names {
        let (name, archive) = match *name {
            "terse-aws-lc" => ("terse-aws-lc", terse("aws-lc")?),
            "terse-rustcrypto" => ("terse-rustcrypto", terse("rustcrypto")?),
            "openssl" => ("openssl", Library::OpenSsl.archive(Purpose::SignedData)?),
            "wolfssl-asm" => ("wolfssl-asm", Library::WolfSslAsm.archive(Purpose::SignedData)?),
            "wolfssl-low" => ("wolfssl-low", Library::WolfSslLow.archive(Purpose::SignedData)?),
            "mbedtls" => ("mbedtls", Library::MbedTls.archive(Purpose::Handshakes(Version::Tls12))?),
            _ => continue,
        };
        sizes.push(measure(name, &archive)?);
    }
    Ok(sizes)
}

/// Builds all of Terse's crates that sign in CMS, and those that they need, without dropping what nobody calls.
fn terse(provider: &str) -> Result<PathBuf, String> {
    let target = directory().join("voucher-library");
    let mut cargo = cargo(provider, &target)?;
    cargo.args(["--config", "profile.release.lto=\"off\""]);
    eprintln!("compiling Terse with {provider} as a library");
    run(&mut cargo, "Cargo has to build bench/voucher")?;
    Ok(target.join("release/libterse_voucher.a"))
}

fn measure(name: &'static str, archive: &Path) -> Result<LibrarySize, String> {
    let stripped = env::temp_dir().join(format!("terse-{name}-{}.a", std::process::id()));
    let mut strip = Command::new("strip");
    strip.arg("--strip-debug").arg(archive).arg("-o").arg(&stripped);
    let measured = run(&mut strip, HINT).and_then(|_| {
        let file = fs::metadata(&stripped).map_err(|error| format!("{}: {error}", stripped.display()))?.len();
        let sizes = run(Command::new("size").arg("--totals").arg(&stripped), HINT)?;
        let code = total(&sizes).ok_or_else(|| format!("{sizes:?} is no output of `size`"))?;
        Ok(LibrarySize { name, file, code })
    });
    let _ = fs::remove_file(&stripped); // it is not there if `strip` failed
    measured
}

/// Returns code and data of the last line of `size --totals`.
fn total(sizes: &str) -> Option<u64> {
    let line = sizes.lines().rfind(|line| line.contains("(TOTALS)"))?;
    let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>().ok());
    Some(numbers.next()?? + numbers.next()??)
}

const HINT: &str = "install the package binutils";

#[cfg(test)]
mod tests {
    #[test]
    fn code_and_data_are_added_and_zeroed_memory_is_not() {
        let sizes = "   text\t   data\t    bss\t    dec\t    hex\tfilename\n    100\t     20\t      3\t    123\t     7b\ta.o (ex x.a)\n\
                     1100\t     220\t      33\t    1353\t     549\t(TOTALS)\n";
        assert_eq!(super::total(sizes), Some(1_320));
        assert_eq!(super::total("nothing"), None);
    }
}
