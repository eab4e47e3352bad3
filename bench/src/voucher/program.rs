//! The smallest static program that signs, with each library: `c/cms/program.c`, linked with one signer.
//!
//! What must always hold: all have the same `main`, C library and options, except that Terse with AWS-LC brings the standard
//! library of Rust; that Cargo builds Terse's part only when it is asked for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use terse_interop::compile::{directory, run};

use super::Pledge;
use super::time::{self, Processes};
use crate::compile::{Library, Purpose, SMALL, STATIC, own};

/// A program, whose arguments are the files of a pledge.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name of its signer.
    pub name: &'static str,
    /// The program's file.
    pub path: PathBuf,
}

/// Builds the programs of these signers. One that there is no program of is left out.
pub fn programs(names: &[&str]) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for name in names {
        let (name, path) = match *name {
            "terse-aws-lc" => ("terse-aws-lc", terse("aws-lc")?),
            "terse-rustcrypto" => ("terse-rustcrypto", terse("rustcrypto")?),
            "openssl" => ("openssl", Library::OpenSsl.object(Purpose::SmallProgram)?),
            "wolfssl-low" => ("wolfssl-low", Library::WolfSslLow.object(Purpose::SmallProgram)?),
            _ => continue,
        };
        programs.push(Program { name, path });
    }
    Ok(programs)
}

/// Builds the program with Terse and one provider, from the versions of other crates that this workspace has.
fn terse(provider: &str) -> Result<PathBuf, String> {
    let target = directory().join("voucher");
    let mut cargo = cargo(provider, &target)?;
    eprintln!("compiling a small Terse with {provider}");
    run(&mut cargo, "Cargo has to build bench/voucher")?;
    let program = target.join(format!("program-{provider}"));
    let mut link = Command::new("cc");
    link.args(SMALL).args(STATIC).args(["-Wall", "-Wextra", "-Werror"]).arg(own("c/cms/program.c"));
    link.arg(target.join("release/libterse_voucher.a")).arg("-o").arg(&program);
    run(&mut link, "install the package build-essential")?;
    Ok(program)
}

/// Returns the command of Cargo that builds Terse's part with one provider.
pub(super) fn cargo(provider: &str, target: &Path) -> Result<Command, String> {
    let [ours, its] = ["../Cargo.lock", "voucher/Cargo.lock"].map(own);
    fs::copy(&ours, &its).map_err(|error| format!("{}: {error}", its.display()))?;
    let mut cargo = terse_interop::compile::cargo();
    cargo.args(["build", "--quiet", "--release", "--no-default-features", "--features", provider]);
    cargo.arg("--manifest-path").arg(own("voucher/Cargo.toml")).arg("--target-dir").arg(target);
    Ok(cargo)
}

impl Program {
    /// Returns the bytes of the program's file, without symbols.
    pub fn size(&self) -> Result<u64, String> {
        fs::metadata(&self.path).map(|file| file.len()).map_err(|error| format!("{}: {error}", self.path.display()))
    }

    /// Signs the voucher request of `pledge`, and verifies it.
    pub fn sign(&self, pledge: &Pledge) -> Result<Vec<u8>, String> {
        let output = Command::new(&self.path).args(pledge.arguments()).output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("{}: {}", self.path.display(), output.status));
        }
        pledge.check(&output.stdout)?;
        Ok(output.stdout)
    }

    /// Returns the times of whole processes of each program.
    pub fn times(programs: &[Self], pledge: &Pledge, rounds: usize) -> Result<Vec<Processes>, String> {
        time::processes(programs, pledge, rounds)
    }
}
